import * as z from 'zod';
import { endpointUrlPattern, isEndpointUrl } from './config-values.ts';
import { revocationRules } from './json-schema-rules.ts';
import { oauthErrorCodeSchema, successSchema } from './token-response.ts';

/** Placeholder of the client id in a path, as in `https://api.example/applications/{clientId}/grant`. */
export const clientIdPlaceholder = '{clientId}';

const revocationEndpointSchema = z
  .string()
  .max(2000)
  .refine(
    value => isEndpointUrl(value.replaceAll(clientIdPlaceholder, 'client')),
    'must be an https URL without credentials and fragment (http only for loopback hosts)',
  )
  // In a host name, the client id would choose the host of the request.
  .refine(
    value => !/^[a-z]+:\/\/[^/]*[{}]/i.test(value) && !/[{}]/.test(value.replaceAll(clientIdPlaceholder, '')),
    'may contain {clientId} in its path, and no other placeholder',
  )
  .meta({ pattern: endpointUrlPattern(String.raw`[\/?](?:[^#{}]|\{clientId\})*`) });

/** How the gateway revokes a grant at a provider. */
export const revocationConfigSchema = z
  .strictObject({
    endpoint: revocationEndpointSchema.optional().describe('Default: revocation_endpoint of the metadata'),
    style: z
      .enum(['rfc7009', 'bearer', 'custom'])
      .default('rfc7009')
      .describe('bearer: a POST with the access token as authorization; custom: as configured by the members below'),
    token: z
      .enum(['refresh_token', 'access_token'])
      .optional()
      .describe(
        'Sends only this token. By default, style rfc7009 with reach token sends the refresh token and then the access token, ' +
          'and everything else only the refresh token. Without a refresh token, the access token is sent',
      ),
    reach: z
      .enum(['token', 'connection', 'grant'])
      .default('token')
      .describe(
        'What one request revokes. token: at least the sent token; connection: the access token and the refresh token ' +
          'together; grant: everything that the user ever granted to this client',
      ),
    method: z.enum(['POST', 'DELETE', 'GET']).optional().describe('Default POST'),
    body: z.enum(['form', 'json', 'none']).optional().describe('Default form'),
    parameter: z
      .string()
      .min(1)
      .max(100)
      .optional()
      .describe('Name of the member for the token in the body; default token'),
    authentication: z
      .enum(['client', 'basic', 'bearer', 'none'])
      .optional()
      .describe(
        'client: as at the token endpoint; basic: always clientId and clientSecret by HTTP Basic; ' +
          'bearer: the access token; none: no authentication. Default client',
      ),
    success: successSchema.optional().describe('With any other value, or without the member, a 2xx is an error'),
    unknownTokenErrors: z
      .array(oauthErrorCodeSchema)
      .max(50)
      .default([])
      .describe('Error codes that mean that the provider no longer knows the token'),
    unknownTokenStatuses: z
      .array(z.int().min(400).max(499))
      .max(10)
      .default([])
      .describe('Status codes that mean that the provider no longer knows the token, e.g. 404'),
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
      fault('body', 'must contain the token unless authentication is bearer');
    if (config.method === 'GET' && config.body !== 'none') fault('body', 'must be none with GET');
  })
  .meta({ allOf: revocationRules });

export type RevocationConfig = z.output<typeof revocationConfigSchema>;
