export { type CookieJar, createCookieJar } from './cookie-jar.ts';
export { type DriveOptions, driveAuthorization } from './drive-authorization.ts';
export { type EvilAnswer, type EvilProvider, honestTokens, startEvilProvider } from './evil-provider.ts';
export { type HttpListener, listenHttp } from './http-listener.ts';
export {
  type IssuedToken,
  type OpenIdProviderOptions,
  startOpenIdProvider,
  type TestClient,
  type TestProvider,
} from './open-id-provider.ts';
export type { ProviderFault } from './provider-fault.ts';
export type { LoggedRequest, ProviderEndpoint } from './request-log.ts';
export { defaultUsers, type TestUser } from './test-user.ts';
