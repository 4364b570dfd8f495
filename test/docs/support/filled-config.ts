import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

type Members = Readonly<Record<string, unknown>>;

const key = () => randomBytes(32).toString('base64');
const jwk = () =>
  JSON.stringify(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' }));

/** Example values for references, by the suffix of the variable or file name. */
const values: readonly (readonly [name: RegExp, value: () => string])[] = [
  [/VAULT_KEY$|^POSTERN_KEY_|\.key$/, key],
  [/\.jwk$/, jwk],
  [/KEY_HASH$/, () => `sha256:${randomBytes(32).toString('hex')}`],
  [/PUBLIC_URL$/, () => 'http://localhost:8080'],
  [/ISSUER$/, () => 'https://login.example.com'],
  [/STRIPE_SECRET_KEY$/, () => 'rk_live_51abc'],
  [/WEBHOOK_SECRET$/, () => `whsec_${key()}`],
];

const exampleOf = (name: string) => values.find(([pattern]) => pattern.test(name))?.[1]() ?? `value-of-${name}`;

export interface FilledConfig {
  /** With its files in a separate folder. */
  readonly document: unknown;
  readonly env: Readonly<Record<string, string>>;
}

/** Provides a value for every reference of a configuration; files go into `folder`. */
export function filledConfig(document: Members, folder: string): FilledConfig {
  const env: Record<string, string> = {};
  const text = JSON.stringify(document).replace(
    /\$\{(env|file):([^}]+)\}/g,
    (reference, kind: string, name: string) => {
      if (kind === 'env') {
        env[name] ??= exampleOf(name);
        return reference;
      }
      const path = join(folder, name);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, `${exampleOf(name)}\n`);
      return `\${file:${path}}`;
    },
  );
  return { document: JSON.parse(text), env };
}
