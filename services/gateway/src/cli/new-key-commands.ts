import { randomBytes } from 'node:crypto';
import { resolve } from 'node:path';
import { newReceiptKey } from '@postern/payment';
import { apiKeyHash, newApiKey } from '../mcp-servers/api-keys.ts';
import { CliError, type CliIo, type ExitCode, exitCodes } from './cli-io.ts';
import type { Command, Invocation } from './command.ts';
import { newPrivateFile } from './private-files.ts';

/** Returns a new vault key: 256 random bits in base64. */
export const newVaultKey = (): string => randomBytes(32).toString('base64');

/** `postern vault new-key`: writes 256 random bits to a file that only its owner can read, or with `--out -` to a pipe. */
async function vaultNewKey({ json, values }: Invocation, io: CliIo): Promise<ExitCode> {
  const kid = checkedKid(values.kid ?? `key-${new Date().toISOString().slice(0, 10)}`);
  const { path, explain } = writeKey(values.out ?? `${kid}.key`, newVaultKey(), io);
  if (json) explain(`${JSON.stringify({ kid, path })}\n`);
  else
    explain(
      [
        `Key "${kid}" is in ${path}. Store a copy separately from Redis backups.`,
        'Add it to vault.keys in second place on all replicas, then move it to the first place:',
        '',
        '  vault:',
        '    keys:',
        '      - { kid: <current>, key: … }',
        `      - { kid: ${kid}, key: '\${file:${path}}' }`,
        '',
      ].join('\n'),
    );
  return exitCodes.ok;
}

/** `postern receipts new-key`: writes an Ed25519 key to a file that only its owner can read, or with `--out -` to a pipe. */
async function receiptsNewKey({ json, values }: Invocation, io: CliIo): Promise<ExitCode> {
  const { kid: thumbprint, key } = await newReceiptKey();
  const kid = checkedKid(values.kid ?? thumbprint);
  const { path, explain } = writeKey(values.out ?? `${kid}.jwk`, JSON.stringify(key), io);
  if (json) explain(`${JSON.stringify({ kid, path })}\n`);
  else
    explain(
      [
        `Key "${kid}" is in ${path}.`,
        'Add it to receipts.keys in second place on all replicas, so that verifiers can fetch it, then move it to the first place.',
        'Keep the old key, or its public half, for as long as its receipts must be verifiable:',
        '',
        '  receipts:',
        '    keys:',
        '      - { kid: <current>, key: … }',
        `      - { kid: ${kid}, key: '\${file:${path}}' }`,
        '',
      ].join('\n'),
    );
  return exitCodes.ok;
}

/** `postern new-api-key`: for the configuration. Prints the key once, to standard output or to a file that only its owner can read. */
async function newApiKeyCommand({ json, values: { out } }: Invocation, io: CliIo): Promise<ExitCode> {
  const write = out === undefined ? undefined : newPrivateFile(out);
  const key = newApiKey();
  const hash = apiKeyHash(key);
  write?.(`${key}\n`);
  const kept = write === undefined ? { key } : { path: resolve(out ?? '') };
  if (json) io.out(`${JSON.stringify({ ...kept, hash })}\n`);
  else
    io.out(
      `${'key' in kept ? `API key: ${key}` : `The API key is in ${kept.path}.`}\nhash (mcpServers[].apiKeys[].hash): ${hash}\n`,
    );
  return exitCodes.ok;
}

/** Validates the name of a key. @throws CliError */
function checkedKid(kid: string): string {
  if (!/^[A-Za-z0-9._-]{1,64}$/.test(kid))
    throw new CliError('A kid has 1 to 64 characters of A-Z, a-z, 0-9, ".", "_" and "-".');
  return kid;
}

/** Where a key went, and the output for its explanation. */
interface WrittenKey {
  readonly path: string;
  readonly explain: (text: string) => void;
}

/**
 * Writes a key to a new file that only its owner can read, or to standard output if `file` is `-`: a container may have no folder to
 * write to. Never prints a key to a terminal, because terminals keep their output.
 * @throws CliError
 */
function writeKey(file: string, key: string, io: CliIo): WrittenKey {
  if (file === '-') {
    if (io.isTerminal) throw new CliError('A key is never printed to a terminal. Redirect the output to a file.');
    io.out(`${key}\n`);
    return { path: '<path>', explain: io.err };
  }
  newPrivateFile(file)(`${key}\n`);
  return { path: resolve(file), explain: io.out };
}

const newKey = { json: 'document', changes: false, isLocal: true } as const;

export const newKeyCommands: readonly Command[] = [
  {
    ...newKey,
    name: 'vault new-key',
    about: 'write a new key to a file and explain how to configure it',
    options: {
      kid: 'name of the key; default key- and the date',
      out: 'new file, default <kid>.key; - is standard output',
    },
    run: vaultNewKey,
  },
  {
    ...newKey,
    name: 'receipts new-key',
    about: 'write a new key that signs receipts',
    options: {
      kid: 'name of the key; default its thumbprint',
      out: 'new file, default <kid>.jwk; - is standard output',
    },
    run: receiptsNewKey,
  },
  {
    ...newKey,
    name: 'new-api-key',
    about: 'print a new API key of an MCP server, and its hash for the configuration',
    options: { out: 'write the key to this new file instead of standard output' },
    run: newApiKeyCommand,
  },
];
