import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { drawnIcon } from '@postern/pages';
import { z } from 'zod';
import { blocksIn } from './doc-blocks.ts';

type Members = Readonly<Record<string, unknown>>;

const key = () => randomBytes(32).toString('base64');
const jwk = () =>
  JSON.stringify(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' }));

/** Example values for references, by the suffix of the variable or file name. */
const values: readonly (readonly [name: RegExp, value: () => string])[] = [
  [/VAULT_KEY$|TRANSACTION_KEY$|^POSTERN_KEY_|\.key$/, key],
  [/OPENBAO_URL$/, () => 'https://openbao.internal:8200'],
  [/OPENBAO_HOST$/, () => 'openbao.internal:8200'],
  [/receipts\.jwk$/, receiptKey],
  [/\.jwk$/, jwk],
  [/KEY_HASH$/, () => `sha256:${randomBytes(32).toString('hex')}`],
  [/CONSOLE_PUBLIC_URL$/, () => 'http://127.0.0.1:8090'],
  [/PUBLIC_URL$/, () => 'http://localhost:8080'],
  [/ISSUER$/, () => 'https://login.example.com'],
  [/STRIPE_SECRET_KEY$/, () => 'rk_live_51abc'],
  [/WEBHOOK_SECRET$/, () => `whsec_${key()}`],
];

/** Receipts are signed with Ed25519. */
function receiptKey(): string {
  return JSON.stringify(generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' }));
}

const exampleOf = (name: string) => values.find(([pattern]) => pattern.test(name))?.[1]() ?? `value-of-${name}`;

export interface FilledConfig {
  /** With its files in a separate folder. */
  readonly document: unknown;
  readonly env: Readonly<Record<string, string>>;
}

const imagesFolderSchema = z.looseObject({ branding: z.looseObject({ imagesFolder: z.string() }) });
const namedImagesSchema = z.object({
  icon: z.string().optional().catch(undefined),
  logo: z.object({ light: z.string(), dark: z.string().optional() }).optional().catch(undefined),
});

/** Names of the images in a configuration, wherever they are. */
function imageNamesIn(part: unknown): readonly string[] {
  if (typeof part !== 'object' || part === null) return [];
  const { icon, logo } = namedImagesSchema.safeParse(part).data ?? {};
  const names = [icon, logo?.light, logo?.dark].filter(name => name !== undefined);
  return [...names, ...Object.values(part).flatMap(imageNamesIn)];
}

/** Writes the PNG files that a configuration names into its folder of images, which it moves into `folder`. */
function withImages(document: unknown, folder: string): unknown {
  const { data } = imagesFolderSchema.safeParse(document);
  if (data === undefined) return document;
  const imagesFolder = join(folder, data.branding.imagesFolder);
  mkdirSync(imagesFolder, { recursive: true });
  for (const name of imageNamesIn(data).filter(each => each.endsWith('.png')))
    writeFileSync(join(imagesFolder, name), drawnIcon({ red: 29, green: 78, blue: 216 }, 48));
  return { ...data, branding: { ...data.branding, imagesFolder } };
}

/** Writes the adapters of key services that a configuration names, from the document that shows them. */
function withModules(text: string, folder: string): string {
  return text.replace(/"module":"([^"]+)"/g, (_, named: string) => {
    const path = join(folder, basename(named));
    const code = blocksIn('mjs').find(({ body }) => body.startsWith(`// ${basename(named)}:`))?.body;
    if (code === undefined) throw new Error(`no document shows ${named}`);
    writeFileSync(path, code);
    return `"module":${JSON.stringify(path)}`;
  });
}

/** Writes a certificate for each certificate authority that a configuration names. */
function withAuthorities(text: string, folder: string): string {
  return text.replace(/"caFile":"([^"]+)"/g, (_, named: string) => {
    const path = join(folder, basename(named));
    writeFileSync(path, rootCertificates[0] ?? '');
    return `"caFile":${JSON.stringify(path)}`;
  });
}

/** Provides a value for every reference of a configuration, and every file that it names; files go into `folder`. */
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
  return { document: withImages(JSON.parse(withAuthorities(withModules(text, folder), folder)), folder), env };
}
