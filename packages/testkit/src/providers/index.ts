export { type CookieJar, createCookieJar } from './cookie-jar.ts';
export { type DriveOptions, driveAuthorization } from './drive-authorization.ts';
export { type DeviceDriveOptions, driveDevice } from './drive-device.ts';
export {
  hostileDeviceAnswers,
  hostilePushedAnswers,
  hostileRegistrationAnswers,
  hostileRegistrationClientUris,
  hostileUserCodes,
  hostileVerificationUris,
  type MalformedTokenAnswer,
  malformedTokenAnswers,
  trickyRequestUris,
} from './evil-answers.ts';
export {
  type EvilAnswer,
  type EvilProvider,
  honestRefresh,
  honestTokens,
  type OptionalEndpoint,
  startEvilProvider,
} from './evil-provider.ts';
export { type HttpListener, listenHttp } from './http-listener.ts';
export { type OddProvider, type OddProviderOptions, startOddProvider } from './odd-provider.ts';
export type { OddAccount, OddStyleName } from './odd-styles.ts';
export { type IssuedToken, startOpenIdProvider, type TestProvider } from './open-id-provider.ts';
export type {
  OpenIdProviderOptions,
  ProviderSwitches,
  RefreshTokenMode,
  TestClient,
} from './open-id-provider-options.ts';
export type { ProviderFault } from './provider-fault.ts';
export type { LoggedAssertion, LoggedRevocation, SecretInQuery } from './provider-log.ts';
export type { LoggedRequest, ProviderEndpoint } from './request-log.ts';
export { defaultUsers, type TestUser } from './test-user.ts';
export type { TokenEvent, TokenHook } from './token-endpoint.ts';
export {
  type AccessTokenStatus,
  type AnswerFate,
  type ExchangeEntry,
  type GrantLog,
  type RefreshEntry,
  type TokenLedger,
  tokenDigest,
} from './token-ledger.ts';
