import type { JWK } from 'jose';

/** The issuer of an authorization server, as configured or as its metadata names it. */
export interface Issuer {
  /** May contain `{tenantid}`, as the metadata of multi-tenant Entra ID does. */
  readonly issuer?: string | undefined;
  /** The tenants that the operator allows for `{tenantid}`. */
  readonly tenants?: readonly string[] | undefined;
}

const tenantPlace = '{tenantid}';

/** Whether the issuer is a template: no token names it, only the issuers of its tenants. */
export const isTemplate = (issuer: string): boolean => issuer.includes(tenantPlace);

/** Returns the issuers that tokens may name. Empty if it is unknown, or a template without tenants. */
export function issuersOf({ issuer, tenants = [] }: Issuer): readonly string[] {
  if (issuer === undefined) return [];
  return isTemplate(issuer) ? tenants.map(tenant => issuer.replaceAll(tenantPlace, tenant)) : [issuer];
}

/** Returns the configured text of the issuer that a token names, which records keep. Undefined for any other issuer. */
export const issuerNamed = (of: Issuer, named: string | undefined): string | undefined =>
  named === undefined ? undefined : issuersOf(of).find(issuer => isSameUrl(issuer, named));

/**
 * Whether the key of a verified token signs for this issuer. Entra ID publishes the keys for all tenants in one set, and says in
 * `issuer` whose tokens a key signs: a key for personal accounts must not sign for a company.
 */
export function isSignedFor(
  issuer: string,
  p: {
    readonly kid: string | undefined;
    readonly keys: readonly JWK[];
    readonly tenants: readonly string[] | undefined;
  },
): boolean {
  if (p.tenants === undefined) return true;
  const used = p.keys.filter(key => key.kid === p.kid);
  const signsFor = (named: unknown) =>
    typeof named !== 'string' || issuersOf({ issuer: named, tenants: p.tenants }).includes(issuer);
  return used.length > 0 && used.every(key => signsFor({ issuer: undefined, ...key }.issuer));
}

/**
 * Whether two texts are the same URL: equal, or different only in the slash of an empty path (RFC 3986 section 6.2.3). Nothing
 * else is normalised: any other difference may lead to another server.
 */
export function isSameUrl(left: string, right: string): boolean {
  return left === right || rootedUrl(left) === rootedUrl(right);
}

/** Returns a URL with the slash of an empty path, the text by which {@link isSameUrl} compares. */
export const rootedUrl = (url: string): string => (/^https?:\/\/[^/?#\\]+$/.test(url) ? `${url}/` : url);
