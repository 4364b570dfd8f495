import * as z from 'zod';
import { endpointUrlPattern, isEndpointUrl } from './config-values.ts';
import { revocationRules } from './json-schema-rules.ts';
import { oauthErrorCodeSchema, successSchema } from './token-response-config.ts';

/** Stands for the client id in a path, as in `https://api.example/applications/{clientId}/grant`. */
export const clientIdPlaceholder = '{clientId}';

const revocationEndpointSchema = z
  .string()
  .max(2000)
  .refine(
    value => isEndpointUrl(value.replaceAll(clientIdPlaceholder, 'client')),
    'must be an https URL without credentials and fragment (http only for loopback hosts)',
  )
  // In a host name, the client id would choose whom we talk to.
  .refine(
    value => !/^[a-z]+:\/\/[^/]*[{}]/i.test(value) && !/[{}]/.test(value.replaceAll(clientIdPlaceholder, '')),
    'may contain {clientId} in its path, and no other placeholder',
  )
  .meta({ pattern: endpointUrlPattern(String.raw`[\/?](?:[^#{}]|\{clientId\})*`) });

/** How a provider is told that a grant is over. */
export const revocationConfigSchema = z
  .strictObject({
    endpoint: revocationEndpointSchema.optional().describe('Default: revocation_endpoint of the metadata'),
    style: z
      .enum(['rfc7009', 'bearer', 'custom'])
      .default('rfc7009')
      .describe('bearer: a POST that carries the access token as authorization; custom: as the members below say'),
    token: z
      .enum(['refresh_token', 'access_token'])
      .default('refresh_token')
      .describe('Which token is sent; without a refresh token it is the access token'),
    reach: z
      .enum(['token', 'grant'])
      .default('token')
      .describe('grant: ends everything that the user ever granted to this client'),
    method: z.enum(['POST', 'DELETE', 'GET']).optional().describe('Default POST'),
    body: z.enum(['form', 'json', 'none']).optional().describe('Default form'),
    parameter: z.string().min(1).max(100).optional().describe('Name of the token in the body; default token'),
    authentication: z
      .enum(['client', 'basic', 'bearer', 'none'])
      .optional()
      .describe(
        'client: as at the token endpoint; basic: clientId and clientSecret by HTTP Basic, whatever is used there; ' +
          'bearer: with the access token. Default client',
      ),
    success: successSchema.optional().describe('Any other value, or none, makes a 2xx an error'),
    unknownTokenErrors: z
      .array(oauthErrorCodeSchema)
      .max(50)
      .default([])
      .describe('Error codes that say: this token is no longer known'),
    unknownTokenStatuses: z
      .array(z.int().min(400).max(499))
      .max(10)
      .default([])
      .describe('Status codes that say: this token is no longer known, e.g. 404'),
  })
  .superRefine((config, context) => {
    const fault = (path: string, message: string) => context.addIssue({ code: 'custom', path: [path], message });
    if (config.style !== 'custom') {
      for (const name of ['method', 'body', 'parameter', 'authentication', 'success'] as const)
        if (config[name] !== undefined) fault(name, 'is only for style custom');
      return;
    }
    if (config.endpoint === undefined) fault('endpoint', 'is needed for style custom');
    if (config.body === 'none' && config.authentication !== 'bearer')
      fault('body', 'must carry the token unless it is the authorization');
    if (config.method === 'GET' && config.body !== 'none') fault('body', 'must be none with GET');
  })
  .meta({ allOf: revocationRules });

export type RevocationConfig = z.output<typeof revocationConfigSchema>;
