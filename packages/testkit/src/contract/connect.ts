import type { Connection, ConnectionId, NewConnection, Subject } from '@postern/elicitation';
import type { ContractStores } from './contract-stores.ts';
import { ask, complete, connectionFor, connectionIdFor, created, engage, moved, operation } from './samples.ts';

/** Connects a user for an owner, replacing the existing connection. */
export async function connect(
  { elicitations, connections }: Pick<ContractStores, 'elicitations' | 'connections'>,
  subject: Subject,
  { owner = 'issue-tracker', ...change }: Partial<NewConnection> = {},
): Promise<Connection> {
  // In the same shard but unused, so that the request never finds the connection of an earlier call.
  const answeredBy = connectionIdFor(subject).replace(/.$/, last => (last === 'A' ? 'B' : 'A')) as ConnectionId;
  const request = ask(subject, { coalescingDigest: operation(), answeredBy });
  const active = await moved(elicitations, await created(elicitations, request), engage);
  const connection = { ...connectionFor(subject, active.elicitationId, owner), ...change };
  await moved(elicitations, active, { ...complete(active), putConnection: connection });
  const stored = await connections.read(connection.connectionId);
  if (stored === undefined) throw new Error('Expected a connection.');
  return stored;
}
