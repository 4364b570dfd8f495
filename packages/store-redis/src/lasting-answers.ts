import {
  type CreateElicitation,
  type CreateResult,
  parseConnectionId,
  parseCredentialId,
  type Shard,
  type TransitionElicitation,
} from '@postern/elicitation';
import { credentialOf } from './credential-reply.ts';
import { connectionOf } from './decoded-connections.ts';
import type { Keys } from './keys.ts';
import { encodeConnection } from './records/connection-record.ts';
import { encodeCredential } from './records/credential-record.ts';

/** Connections and credentials are laid out alike, so that one path of the scripts serves both. */

export function answerKeyOf(keys: Keys, shard: Shard, id: CreateElicitation['answeredBy']): string {
  if (id === undefined) return keys.none(shard);
  const connectionId = parseConnectionId(id);
  if (connectionId !== undefined) return keys.connection(connectionId);
  const credentialId = parseCredentialId(id);
  if (credentialId !== undefined) return keys.credential(credentialId);
  throw new TypeError('Only a connection or a credential answers an ask.');
}

/** The connection or credential that a move puts, as it is stored. */
export function answerPutBy(keys: Keys, shard: Shard, { putConnection, putCredential }: TransitionElicitation) {
  if (putConnection !== undefined && putCredential !== undefined)
    throw new TypeError('A move puts a connection or a credential.');
  if (putConnection !== undefined) {
    const { connectionId: id, subject } = putConnection;
    const index = keys.connectionsOf(shard, subject);
    return { id, key: keys.connection(id), index, record: encodeConnection(putConnection) };
  }
  if (putCredential === undefined) return undefined;
  const { credentialId: id, subject } = putCredential;
  const index = keys.credentialsOf(shard, subject);
  return { id, key: keys.credential(id), index, record: encodeCredential(putCredential) };
}

/** Reads generation, createdAt, updatedAt, record, lost, lastUse. */
export function answeredWith(id: CreateElicitation['answeredBy'], found: readonly unknown[]): CreateResult {
  const connectionId = id && parseConnectionId(id);
  if (connectionId) return { result: 'connected', connection: connectionOf(connectionId, found) };
  const credentialId = id && parseCredentialId(id);
  if (credentialId) return { result: 'kept', credential: credentialOf(credentialId, found) };
  throw new TypeError('A script answered with a result this release does not know.');
}
