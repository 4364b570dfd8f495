import type { Subject } from '@postern/elicitation';
import type { Actor } from '../admin/admin-audit.ts';
import type { PersonReport } from '../admin/people.ts';
import { type CliIo, type ExitCode, exitCodes, printable, tableOf } from './cli-io.ts';
import { openAdmin } from './open-admin.ts';

export interface PeopleCommand {
  readonly configPath: string;
  readonly json: boolean;
  readonly subject: Subject;
  readonly actor: Actor;
}

/** `postern people show`: exits with 1 if nothing is stored about the person. */
export async function peopleShow({ configPath, json, subject, actor }: PeopleCommand, io: CliIo): Promise<ExitCode> {
  await using opened = await openAdmin(configPath, io);
  const report = await opened.admin.person(actor, subject);
  io.out(printable(json ? `${JSON.stringify(report)}\n` : textOf(report)));
  const { person: _, ...lists } = report;
  if (Object.values(lists).some(list => list.length > 0)) return exitCodes.ok;
  io.err('Nothing is stored about this person. Check issuer and subject: both must match exactly.\n');
  return exitCodes.failure;
}

function textOf(report: PersonReport): string {
  const parts = [
    partOf('Connections', ['connection', 'provider', 'of', 'connected at', 'state'], report.connections, of => [
      ...[of.connectionId, of.provider, of.owner, of.connectedAt],
      of.lost === undefined ? 'usable' : `lost (${of.lost.reason})`,
    ]),
    partOf('Credentials', ['credential', 'name', 'of', 'saved at'], report.credentials, of => [
      ...[of.credentialId, of.name, of.owner, of.savedAt],
    ]),
    partOf('Open', ['elicitation', 'kind', 'status', 'MCP server', 'issued at'], report.open, of => [
      ...[of.elicitationId, of.kind, of.status, of.mcpServerId, of.createdAt],
    ]),
    partOf('Ended by this person', ['elicitation', 'kind', 'status', 'MCP server', 'ended at'], report.ended, of => [
      ...[of.elicitationId, of.kind, of.status, of.mcpServerId, of.endedAt ?? '-'],
    ]),
    partOf('Passkeys', ['name', 'added at'], report.passkeys, of => [of.name, of.addedAt]),
    partOf('Browser sessions', ['browser', 'signed in at', 'ends at'], report.browserSessions, of => [
      ...[of.browser ?? 'unknown', of.signedInAt, of.endsAt],
    ]),
    partOf('Muted MCP servers', ['MCP server', 'muted at'], report.mutedMcpServers, of => [of.mcpServerId, of.mutedAt]),
  ];
  return [`Pseudonym in audit trail and lists: ${report.person.pseudonym}\n`, ...parts].join('\n');
}

function partOf<Item>(
  title: string,
  head: readonly string[],
  items: readonly Item[],
  cells: (item: Item) => readonly string[],
): string {
  return items.length === 0 ? `${title}: none\n` : `${title}: ${items.length}\n${tableOf(head, items.map(cells))}\n`;
}
