/**
 * JSON Schema keywords for rules that zod checks in code and so omits from its JSON Schema. A rule here may be
 * weaker than the check, never stricter. References such as `${env:NAME}` count as any value.
 */

type Keywords = Readonly<Record<string, unknown>>;

export const has = (...names: string[]): Keywords => ({ required: names });
export const hasNone = (...names: string[]): Keywords => ({ not: { anyOf: names.map(name => has(name)) } });
export const isOneOf = (name: string, values: readonly string[]): Keywords => ({
  required: [name],
  properties: { [name]: { enum: values } },
});
/** Also matches an absent member if the default is one of the values. */
export const isDefaultOrOneOf = (name: string, values: readonly string[]): Keywords => ({
  anyOf: [hasNone(name), isOneOf(name, values)],
});
export const when = (condition: Keywords, consequence: Keywords): Keywords => ({
  if: condition,
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
  then: consequence,
});

/** See `clientCredentialFaults`. */
export const clientCredentialRules: readonly Keywords[] = [
  { not: has('clientSecret', 'clientKey') },
  when(
    isOneOf('clientAuthentication', ['client_secret_basic', 'client_secret_post', 'client_secret_jwt']),
    has('clientSecret'),
  ),
  when(isOneOf('clientAuthentication', ['private_key_jwt']), has('clientKey')),
  when(isOneOf('clientAuthentication', ['none']), hasNone('clientSecret', 'clientKey')),
];

const onlyForCustom = ['method', 'body', 'parameter', 'authentication', 'success'];

const hasTenants: Keywords = {
  required: ['issuer'],
  properties: { issuer: { type: 'string', pattern: '\\{tenantid\\}' } },
};

/** See `metadataFaults`. */
export const metadataRules: readonly Keywords[] = [
  when(has('metadataUrl'), { ...has('issuer'), ...hasNone('discovery') }),
  when(hasTenants, { anyOf: [has('metadataUrl'), has('tokenEndpoint')] }),
];

/** See `identityProviderConfigSchema`. */
export const signInRules: readonly Keywords[] = [
  ...clientCredentialRules,
  ...metadataRules,
  when(hasTenants, has('tenants')),
];

/** See `revocationConfigSchema`. */
export const revocationRules: readonly Keywords[] = [
  when(isDefaultOrOneOf('style', ['rfc7009', 'bearer']), hasNone(...onlyForCustom)),
  when(isOneOf('style', ['custom']), has('endpoint')),
  when(isOneOf('body', ['none']), isBearerOrReference()),
  when(isOneOf('method', ['GET']), has('body')),
];

function isBearerOrReference(): Keywords {
  return {
    required: ['authentication'],
    properties: { authentication: { not: { enum: ['client', 'basic', 'none'] } } },
  };
}
