import * as z from 'zod';
import { clientAuthenticationSchema, clientCredentialFaults, clientKeySchema } from './client-authentication.ts';
import {
  endpointUrlSchema,
  issuerSchema,
  metadataFaults,
  metadataMembers,
  nameSchema,
  scopeTokenSchema,
} from './config-values.ts';
import { isTemplate } from './issuer.ts';
import { signInRules } from './json-schema-rules.ts';

/** Claims that users can change, or that may be reassigned to another user. None of them may identify a user. */
const mutableClaims = new Set([
  'email',
  'family_name',
  'given_name',
  'mail',
  'name',
  'nickname',
  'phone_number',
  'preferred_username',
  'unique_name',
  'upn',
]);

/** Ignores case and namespaces such as `https://idp.example/claims/email`. */
const isMutable = (claim: string): boolean => mutableClaims.has(claim.toLowerCase().replace(/^.*[/:]/, ''));

const claimNameSchema = z.string().min(1).max(200);

/** `sub`, or several claims joined by `+` that are unique and immutable only together (`tid+oid` at Entra ID). */
const subjectClaimSchema = z
  .string()
  .max(400)
  .regex(/^[^+\s]+(\+[^+\s]+)*$/, 'must be claim names joined by +')
  .refine(
    value => value.split('+').every(claim => !isMutable(claim)),
    'must not name a claim that can change, such as email',
  )
  .meta({ not: { pattern: `(?:^|[+/:])(?:${[...mutableClaims].join('|')})(?:\\+|$)` } });

const accessTokensSchema = z.strictObject({
  audience: z
    .union([z.string().min(1), z.array(z.string().min(1)).min(1).max(50)])
    .optional()
    .describe('Accepted values of aud, in addition to those of the calling MCP server'),
  subjectClaim: subjectClaimSchema.optional().describe('Default: the subjectClaim of the identity provider'),
  jwksUri: endpointUrlSchema.optional().describe('Default: jwks_uri of the discovered metadata'),
});

/** How the gateway signs people in at an OpenID provider. */
const signInMembers = {
  issuer: issuerSchema,
  ...metadataMembers(),
  clientId: z.string().min(1).max(500),
  clientSecret: z.string().min(1).max(2000).optional(),
  clientKey: clientKeySchema.optional().describe('Private JWK as JSON, for private_key_jwt'),
  clientAuthentication: clientAuthenticationSchema
    .optional()
    .describe('Default: client_secret_basic with a clientSecret, private_key_jwt with a clientKey, otherwise none'),
  subjectClaim: subjectClaimSchema.default('sub').describe('Immutable claim of the ID token that identifies the user'),
  scopes: z
    .array(scopeTokenSchema)
    .max(50)
    .refine(scopes => scopes.includes('openid'), 'must contain openid')
    .meta({ contains: { type: 'string', const: 'openid' } })
    .default(['openid', 'profile', 'email']),
  displayNameClaims: z.array(claimNameSchema).min(1).max(10).default(['name', 'preferred_username', 'email']),
  maxAgeSeconds: z.int().min(0).max(31_536_000).optional().describe('Maximum age of the authentication at sign-in'),
  rpInitiatedLogout: z
    .boolean()
    .default(true)
    .describe('Offer to sign out at the identity provider too, if its metadata has an end_session_endpoint'),
  allowMissingPkceMetadata: z
    .boolean()
    .default(false)
    .describe('Accept metadata without code_challenge_methods_supported; PKCE is sent anyway'),
};

type SignInConfig = z.output<z.ZodObject<typeof signInMembers>>;

/** Reports contradicting and missing members of the sign-in. */
function checkSignIn(config: SignInConfig, { addIssue }: z.core.$RefinementCtx): void {
  const lacksTenants = isTemplate(config.issuer) && config.tenants === undefined;
  const tenants = { member: 'tenants', message: 'is needed for an issuer with {tenantid}' };
  for (const { member, message } of [
    ...clientCredentialFaults(config),
    ...metadataFaults(config),
    ...(lacksTenants ? [tenants] : []),
  ])
    addIssue({ code: 'custom', path: [member], message });
}

/** An OpenID provider at which users sign in, and whose JWT access tokens MCP servers may present. */
export const identityProviderConfigSchema = z
  .strictObject({
    name: nameSchema,
    displayName: z.string().min(1).max(80).optional(),
    ...signInMembers,
    accessTokens: accessTokensSchema.optional().describe('If absent, access tokens of this issuer are refused'),
  })
  .superRefine((config, context) => {
    checkSignIn(config, context);
    // An ID token has the client id as audience. If access tokens could have it too, an ID token could
    // pass as an access token.
    if ([config.accessTokens?.audience ?? []].flat().includes(config.clientId)) {
      const message = 'must not be the clientId, which is the audience of ID tokens';
      context.addIssue({ code: 'custom', path: ['accessTokens', 'audience'], message });
    }
  })
  .meta({ allOf: signInRules });

/** An OpenID provider at which operators sign in: no MCP server presents its access tokens, and no user sees its name. */
export const operatorSignInConfigSchema = z
  .strictObject(signInMembers)
  .superRefine(checkSignIn)
  .meta({ allOf: signInRules });

export type IdentityProviderConfig = z.output<typeof identityProviderConfigSchema>;
/** The operator's configuration, before defaults. */
export type IdentityProviderConfigInput = z.input<typeof identityProviderConfigSchema>;
