import { readFileSync } from 'node:fs';
import { isShortRun } from '@postern/testkit/run-size';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it, test } from 'vitest';
import { faultyConfigs } from '../../testing/faulty-configs.ts';
import { faultyProviders } from '../../testing/faulty-providers.ts';
import { fullConfig } from '../../testing/full-config.ts';
import { placesOf, valueAt, withValueAt } from '../../testing/places.ts';
import { sampleConfig } from '../../testing/sample-config.ts';
import { ConfigError } from './config-error.ts';
import { configJsonSchemaText, configJsonSchemaUrl } from './config-json-schema.ts';
import { parseConfig } from './load-config.ts';
import { interpolate } from './references.ts';

const published = JSON.parse(readFileSync(configJsonSchemaUrl, 'utf8'));
// A rule may require members that the schema around it declares, which strictRequired does not see.
const schemaAccepts = new Ajv2020({ strict: true, strictRequired: false }).compile(published);

/** What the gateway refuses in a document; nothing when it starts with it. */
function gatewayFaults(document: unknown, env: Readonly<Record<string, string>> = {}): ConfigError['faults'] {
  try {
    parseConfig(interpolate(document, env), document);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.faults;
    throw error;
  }
}

/** Faults that a JSON Schema cannot express: names that lead nowhere, unusable keys, and members that depend on distant ones. */
const beyondJsonSchema = [
  /is not configured$/,
  /^no identity provider with issuer/,
  /is not a usable public key$/,
  /has no words in the preset/,
  /^is (needed|required) for (requireIss|account|kind payment|clientAuthentication|a publicUrl for other machines)/,
  /^by HTTP Basic needs a clientSecret$/,
  /^has no maxAmount/,
  /^is a test key on a public gateway/,
  /^is true, but secretKey is a live key$/,
  /^is a currency that none of the processors accepts$/,
  /^is (below|above) \d+, the (minimum|maximum) of its processors$/,
  /^is not a processor of this MCP server$/,
  /^is empty: the processors take payments only for registered payees$/,
  /^needs a rediss:\/\/ address$/,
  /branding\.imagesFolder/,
];

/** Titles in {@link faultyConfigs} of such faults. */
const onlyTheGatewayRefuses = [
  'a feed as large as the storage quota',
  'Sentinels with different credentials',
  'TLS settings for a redis:// address',
  // REDIS_URL may name a Redis that the file does not.
  'a gateway for other people without Redis',
  'a gateway for other machines on a file',
  'webhooks without Redis',
  'an admin API without Redis',
  'the durability profile ha without Redis',
  'a vault key of zeros',
  'a vault key of a few letters',
  'a key service without transactionKey',
  'only keys in a key service, from which no receipt key derives',
  'an unknown provider',
  'an issuer without identity provider',
  'two identity providers whose issuers differ in the slash of an empty path',
  'two identity providers with the same tenant',
  'loopback identity with a public URL',
  'loopback identity for the whole network',
  'a group with two identity modes',
  'a group with two applications',
  'an incomplete JWK',
  'a short RSA key',
  'two identity providers with the same name',
  'two MCP servers with the same id',
  'two MCP servers with the same API key',
  'two vault keys with the same name',
  'a passkey threshold in a currency without payments',
  'a limit of first passkeys in a currency without payments',
  'a limit of first passkeys that is not above the passkey threshold',
  'payments without a processor',
  'an unknown processor',
  'a processor without registered payees',
  'a payee that occurs twice',
  'a payee in two alphabets',
  'an account at a processor of others',
  'a test key on a public gateway',
  'test mode with a live key',
  'a currency that the processor does not accept',
  'a limit below the minimum of the processor',
  'a limit above the maximum of the processor',
  'a passkey threshold with an IP address as public host',
  'a webhook to this machine',
  'two webhooks with the same id',
  'metrics on the port of the public listener',
  'a console on the host name of the pages',
  'a console on this machine beside public pages',
  'a console on the port of the pages',
  'the admin API on the port of the pages',
  'the admin API on the port of the console',
  'a console without a role',
  'an accent in the colour of danger',
  'an accent of one MCP server in the colour of danger',
];

it('the published schema is the generated one (node services/gateway/src/platform/config/write-json-schema.ts)', () => {
  expect(published).toEqual(JSON.parse(configJsonSchemaText()));
});

test('the schema and the gateway accept the same documents', () => {
  for (const document of [sampleConfig(), fullConfig()]) {
    expect(gatewayFaults(document)).toEqual([]);
    expect({ accepted: schemaAccepts(document), errors: schemaAccepts.errors }).toMatchObject({ accepted: true });
  }
});

describe('the schema refuses what the gateway refuses', () => {
  test.each(faultyConfigs)('%s', (fault, document) => {
    expect(schemaAccepts(document)).toBe(onlyTheGatewayRefuses.includes(fault));
  });

  test.each(faultyProviders)('a provider with %s', (_, provider) => {
    const document = sampleConfig();
    const providers = [...(document.providers ?? []), { name: 'odd', ...provider }];
    expect(gatewayFaults({ ...document, providers })).not.toEqual([]);
    expect(schemaAccepts({ ...document, providers })).toBe(false);
  });
});

const full = fullConfig();
/** The members at the top, and the items of those that are lists: each is a test of its own, so that none takes long. */
const parts = Map.groupBy(placesOf(full), ([member, item]) =>
  typeof item === 'number' ? `${member}[${item}]` : (member ?? '(all)'),
);

const others = [undefined, null, -1, 'A b', { x: 1 }];
/** All of them, or in the short run one that changes from place to place. */
const strangers = (nth: number) => (isShortRun ? [others[nth % others.length]] : others);

describe.each([...parts])('everywhere in %s', (_, places) => {
  test('a value of another kind is refused by both or by neither', () => {
    const disagreements = places.flatMap((place, nth) =>
      strangers(nth).flatMap(value => {
        const document = withValueAt(full, place, value);
        const faults = gatewayFaults(document);
        const isBeyond = faults.some(({ message }) => beyondJsonSchema.some(fault => fault.test(message)));
        const isAgreed = schemaAccepts(document) ? faults.length === 0 || isBeyond : faults.length > 0;
        return isAgreed ? [] : [{ place, value, faults }];
      }),
    );
    expect(disagreements).toEqual([]);
  });

  test('a misspelt member is refused by both or by neither', () => {
    for (const place of places) {
      const members = valueAt(full, place);
      if (typeof members !== 'object' || members === null || Array.isArray(members)) continue;
      const document = withValueAt(full, [...place, 'misspelt'], 'x');
      const refused = gatewayFaults(document).length > 0;
      expect({ place, refused: !schemaAccepts(document) }).toEqual({ place, refused });
    }
  });

  test('S79: a text or a number may be a reference, and a switch may not', () => {
    for (const place of places) {
      const value = valueAt(full, place);
      if (typeof value === 'object') continue;
      const document = withValueAt(full, place, '${env:VALUE}');
      const accepted = gatewayFaults(document, { VALUE: String(value) }).length === 0;
      expect({ place, accepted: schemaAccepts(document) }).toEqual({ place, accepted });
    }
  });
});
