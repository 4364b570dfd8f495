/** Predefined names for the examples of packages/authorization/README.md. */
import type { DpopKey, Provider, ProviderConfig, RefreshRequest, RevokeRequest } from '@postern/authorization';

export { createOutboundFetch, createProviderRegistry } from '@postern/authorization';
export declare const config: { readonly providers: readonly ProviderConfig[] };
export declare const provider: Provider;
export declare const redirectUri: URL;
export declare const callbackUrl: URL;
export declare const state: string;
export declare const url: URL;
export declare const keptWithTheTokens: RefreshRequest & RevokeRequest & { readonly dpopKey: DpopKey };
export declare const connection: { readonly scopes: readonly string[] };
export declare const accessToken: string;
