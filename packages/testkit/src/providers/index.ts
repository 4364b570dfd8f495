export { createCookieJar } from './cookie-jar.ts';
export { type DriveOptions, driveAuthorization } from './drive-authorization.ts';
export { driveDevice } from './drive-device.ts';
export {
  hostileDeviceAnswers,
  hostilePushedAnswers,
  hostileRegistrationAnswers,
  hostileRegistrationClientUris,
  malformedTokenAnswers,
  trickyRequestUris,
  untidyTokenAnswers,
} from './evil-answers.ts';
export {
  type EvilAnswer,
  type EvilProvider,
  honestRefresh,
  honestTokens,
  startEvilProvider,
} from './evil-provider.ts';
export { type HttpListener, listenHttp } from './http-listener.ts';
export { type OddProvider, startOddProvider } from './odd-provider.ts';
export type { OddStyleName } from './odd-styles.ts';
export { startOpenIdProvider, type TestProvider } from './open-id-provider.ts';
export type {
  RefreshTokenMode,
  TestClient,
} from './open-id-provider-options.ts';
export type { ProviderFault } from './provider-fault.ts';
export { tokenDigest } from './token-ledger.ts';
