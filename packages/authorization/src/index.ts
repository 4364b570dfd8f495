export {
  type AccessTokenVerifier,
  createAccessTokenVerifier,
} from './access-token-verifier.ts';
export { AuthorizationError, type AuthorizationErrorCode } from './authorization-error.ts';
export type { ValidatedCallback } from './callback.ts';
export { imageNameSchema, type LocalizedText, logoSchema } from './config-values.ts';
export { slowDownMs } from './device-flow.ts';
export type { DpopKey } from './dpop.ts';
export { hasUniqueNames } from './foreign-document.ts';
export {
  type IdentityProviderConfig,
  identityProviderConfigSchema,
  operatorSignInConfigSchema,
} from './identity-provider-config.ts';
export { inspectIdentityProvider, inspectProvider, type ServerInspection } from './inspect-server.ts';
export { isSameUrl, issuerNamed, issuersOf, rootedUrl } from './issuer.ts';
export { createLogoutTokenVerifier, type LogoutTokenVerifier, MAX_LOGOUT_TOKEN_AGE_SECONDS } from './logout-token.ts';
export {
  createOutboundConnections,
  createOutboundFetch,
  type OutboundConnections,
  type OutboundFetch,
} from './outbound/outbound-fetch.ts';
export type { OutboundPolicy } from './outbound/outbound-policy.ts';
export { OutboundError, type OutboundErrorCode } from './outbound/outbound-policy.ts';
export { providerConfigSchema } from './presets/expand-preset.ts';
export {
  type AuthorizationStart,
  type CallbackRequest,
  type CodeExchangeRequest,
  createProviderRegistry,
  type DevicePollResult,
  type DeviceStart,
  type Grant,
  type Provider,
  type ProviderRegistry,
  type RefreshedGrant,
  type RefreshRequest,
  type RevokeRequest,
} from './provider.ts';
export type { ProviderConfig, ProviderConfigInput } from './provider-config.ts';
export { providerJsonSchema } from './provider-json-schema.ts';
export { type ClientPresentation, clientDocument, clientKeySet } from './registration/client-metadata.ts';
export type { ClientRegistrationStore } from './registration/dynamic-client-registration.ts';
export { createRemoteRegistrations } from './registration/remote-registration.ts';
export type { RevocationResult } from './revocation.ts';
export {
  createSignIn,
  type SignedIn,
  type SignIn,
} from './sign-in.ts';
