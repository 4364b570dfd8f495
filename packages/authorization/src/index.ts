export {
  type AccessTokenVerifier,
  createAccessTokenVerifier,
} from './access-token-verifier.ts';
export type { Account } from './account.ts';
export { AuthorizationError, type AuthorizationErrorCode, authorizationErrorCodes } from './authorization-error.ts';
export { type CallbackExpectations, validateCallback } from './callback.ts';
export type {
  ClientRegistration,
  ClientRegistrationSource,
  EndpointMetadata,
  ResolvedClient,
} from './client-registration.ts';
export type { LocalizedText } from './config-values.ts';
export { slowDownMs } from './device/device-poll.ts';
export type { DpopKey, DpopProofRequest } from './dpop.ts';
export {
  type IdentityProviderConfig,
  type IdentityProviderConfigInput,
  identityProviderConfigSchema,
} from './identity-provider-config.ts';
export { OutboundError, type OutboundErrorCode } from './outbound-error.ts';
export {
  createOutboundFetch,
  type OutboundFetch,
  type OutboundRequest,
} from './outbound-fetch.ts';
export type { OutboundPolicy, ResolveAddresses } from './outbound-policy.ts';
export type {
  AuthorizationStart,
  CallbackRequest,
  CodeExchangeRequest,
  DevicePollRequest,
  DevicePollResult,
  DeviceStart,
  DeviceStartRequest,
  Grant,
  Provider,
  RefreshedGrant,
  RefreshRequest,
  RevokeRequest,
  StartRequest,
} from './provider.ts';
export { type ProviderConfig, type ProviderConfigInput, providerConfigSchema } from './provider-config.ts';
export { providerJsonSchema } from './provider-json-schema.ts';
export { createProviderRegistry, type ProviderRegistry } from './provider-registry.ts';
export { type ClientPresentation, clientDocument, clientKeySet } from './registration/client-presentation.ts';
export type { ClientRegistrationStore } from './registration/client-registration-store.ts';
export type { UnusedClient } from './registration/dynamic-client-registration.ts';
export {
  createRemoteRegistrations,
  type RemoteRegistration,
  type RemoteRegistrations,
} from './registration/remote-registration.ts';
export type { RevocationResult } from './revocation.ts';
export {
  createSignIn,
  type SignedIn,
  type SignIn,
  type SignInCallback,
  type SignInRequest,
  type SignInStart,
} from './sign-in.ts';
