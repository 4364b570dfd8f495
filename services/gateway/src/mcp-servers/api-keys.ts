import { createHash, randomBytes } from 'node:crypto';

/** Returns a new API key for an MCP server: 256 random bits. */
export const newApiKey = (): string => `pk_${randomBytes(32).toString('base64url')}`;

/** Whether `newApiKey` may have returned this text. Keys of the configuration can have any form. */
export const isNewApiKey = (text: string): boolean => /^pk_[A-Za-z0-9_-]{43}$/.test(text);

/** Returns the hash of an API key as the configuration has it. */
export const apiKeyHash = (key: string): string => `sha256:${createHash('sha256').update(key).digest('hex')}`;

/** Returns the digest in a hash of the configuration, in hex. */
export const digestIn = (hash: string): string => hash.slice('sha256:'.length);

/** Characters of a digest that name a key of the file. */
export const HASH_SHOWN = 16;

/** Names a key of the configuration by its digest, so that the same key has the same id on every replica. */
export const idOfFileKey = (digest: string): string => `ak_file_${digest.slice(0, HASH_SHOWN)}`;
