import * as z from 'zod';

/** Member names joined by dots: `authed_user.access_token`. */
export const memberPathSchema = z
  .string()
  .max(200)
  .regex(/^[^.\s]+(\.[^.\s]+)*$/, 'must be member names joined by dots');

const scalarSchema = z.union([z.string().max(200), z.number(), z.boolean(), z.null()]);

/** A member whose value says that the answer is one of success. */
export const successSchema = z.strictObject({ member: memberPathSchema, equals: scalarSchema });
export type SuccessSign = z.output<typeof successSchema>;

export const oauthErrorCodeSchema = z
  .string()
  .max(100)
  .regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, 'must be an error code');

/** How the answers of a token endpoint differ from RFC 6749 section 5. Applied before they are validated, never instead. */
export const tokenResponseConfigSchema = z.strictObject({
  format: z.enum(['json', 'form', 'auto']).default('json').describe('auto: as the content type says'),
  members: z
    .strictObject({
      accessToken: memberPathSchema.optional(),
      tokenType: memberPathSchema.optional(),
      expiresIn: memberPathSchema.optional(),
      refreshToken: memberPathSchema.optional(),
      scope: memberPathSchema.optional(),
      idToken: memberPathSchema.optional(),
    })
    .default({})
    .describe('Where a member of the answer is, e.g. accessToken: authed_user.access_token'),
  tokenType: z
    .literal('bearer')
    .optional()
    .describe('What the token is, whatever token_type says or does not say; never where DPoP is required'),
  lifetimeSeconds: z.int().min(1).max(315_360_000).optional().describe('Assumed where the answer has no expires_in'),
  success: successSchema.optional().describe('Any other value, or none, makes a 200 an error'),
  errorMember: memberPathSchema
    .default('error')
    .describe('Where the code of an error is, if not in error; looked for in a 200 as well'),
  refusedErrors: z
    .array(oauthErrorCodeSchema)
    .max(50)
    .default([])
    .describe('Codes beside invalid_grant that mean: the refresh token is no longer accepted'),
});

export type TokenResponseConfig = z.output<typeof tokenResponseConfigSchema>;
