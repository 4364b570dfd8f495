import { z } from 'zod/v4';

export const elicitationIdSchema = z
  .string()
  .max(128)
  .describe('Opaque. Identifies one elicitation; grants nothing by itself.');
export const connectionIdSchema = z
  .string()
  .max(128)
  .describe('Opaque. Identifies one stored authorization; grants nothing by itself.');

export const identifier = (max: number) =>
  z
    .string()
    .min(1)
    .max(max)
    .regex(/^[\x21-\x7e]+$/, { error: 'visible ASCII without spaces' });

export const issuerSchema = identifier(512).describe(
  'The `iss` of the authorization server that authenticated the user.',
);
/** OpenID Connect Core 1.0 section 2: at most 255 ASCII characters. */
export const subjectIdentifierSchema = identifier(255).describe(
  'The immutable user identifier at that issuer. Never an e-mail address.',
);

export const subjectSchema = z
  .strictObject({ issuer: issuerSchema, subject: subjectIdentifierSchema })
  .meta({ id: 'Subject' });
export const subjectInputSchema = z
  .union([
    subjectSchema,
    z
      .strictObject({
        accessToken: identifier(8192).describe(
          'The MCP access token as received; the gateway verifies it and takes issuer and subject from it.',
        ),
      })
      .meta({ id: 'SubjectToken' }),
  ])
  .meta({ id: 'SubjectInput' });

export const providerNameSchema = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,39}$/, { error: 'lower-case letters, digits and hyphens' });
