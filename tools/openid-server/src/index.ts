import './hush-runtime-warning.ts';

export type {
  ClientAuthMethod,
  ClientMetadata,
  Configuration,
  KoaContextWithOIDC,
} from 'oidc-provider';
export { errors, Provider } from 'oidc-provider';
export type { Middleware } from './interactions.ts';
/** @internal The testkit wraps it. */
export { createMemoryAdapter } from './memory-adapter.ts';
export { createOpenIdServer } from './openid-server.ts';
export type { OpenIdUser } from './openid-user.ts';
export { type Brand, brandedPage, pageHeaders } from './pages.ts';
