import type { PersonReport } from '../admin/people.ts';
import { type CliIo, counted, type ExitCode, exitCodes, printable, tableOf } from './cli-io.ts';
import { type Command, changingActor, type Invocation, subjectIn, whoAndWhy } from './command.ts';
import { actorOf, openAdmin } from './open-admin.ts';

/** `postern people sign-out` */
async function peopleSignOut(p: Invocation, io: CliIo): Promise<ExitCode> {
  const actor = changingActor(p);
  await using opened = await openAdmin(p.configPath, io);
  const { found } = await opened.admin.signOutPerson(actor, subjectIn(p), p);
  if (p.json) io.out(`${JSON.stringify({ dryRun: p.dryRun, browserSessions: found })}\n`);
  else io.out(`${p.dryRun ? 'Would end' : 'Ended'} all browser sessions; ${found} were listed.\n`);
  return exitCodes.ok;
}

/** `postern people export`: one JSON document, the same as the user's own download. */
async function peopleExport(p: Invocation, io: CliIo): Promise<ExitCode> {
  const actor = changingActor(p);
  await using opened = await openAdmin(p.configPath, io);
  io.out(`${JSON.stringify(await opened.admin.exportPerson(actor, subjectIn(p)), null, 2)}\n`);
  return exitCodes.ok;
}

/** `postern people erase`: exits with 1 while an open elicitation could not be cancelled. */
async function peopleErase(p: Invocation, io: CliIo): Promise<ExitCode> {
  const actor = changingActor(p);
  await using opened = await openAdmin(p.configPath, io);
  const done = await opened.admin.erasePerson(actor, subjectIn(p), p);
  const { left, stillDeciding = 0 } = done;
  if (p.json) io.out(`${JSON.stringify({ dryRun: p.dryRun, ...done })}\n`);
  else
    io.out(
      [
        `${p.dryRun ? 'Would delete' : 'Deleted'}: ${counted(done.open, 'open elicitation')}, ` +
          `${counted(done.connections, 'connection')}, ${counted(done.credentials, 'credential')}, ` +
          `${counted(done.mutedMcpServers, 'mute')}, passkeys and browser sessions.`,
        `Left: ${counted(left.endedElicitations, 'ended elicitation')} for retention.endedHours, ` +
          `${counted(left.payments, 'payment')} among them. Payment records stay for payment.retentionDays, ` +
          'grants until they are revoked, and the audit trail under the pseudonym.',
        ...(stillDeciding === 0
          ? []
          : [
              `${counted(stillDeciding, 'elicitation')} being paid or verified. Repeat the command when they have ended.`,
            ]),
        '',
      ].join('\n'),
    );
  return stillDeciding === 0 ? exitCodes.ok : exitCodes.failure;
}

/** `postern people show`: exits with 1 if nothing is stored about the person. */
async function peopleShow(p: Invocation, io: CliIo): Promise<ExitCode> {
  const actor = actorOf(p.values);
  await using opened = await openAdmin(p.configPath, io);
  const report = await opened.admin.person(actor, subjectIn(p));
  io.out(printable(p.json ? `${JSON.stringify(report)}\n` : textOf(report)));
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

const person = { parameters: ['<issuer>', '<subject>'], json: 'document' } as const;
const change = { ...person, options: whoAndWhy, changes: true } as const;

export const peopleCommands: readonly Command[] = [
  {
    ...person,
    name: 'people show',
    about: 'list what is stored about a user, without secrets',
    options: { by: true, reason: true },
    changes: false,
    failure: 'nothing is stored about the user',
    run: peopleShow,
  },
  { ...change, name: 'people sign-out', about: 'end all browser sessions of a user', run: peopleSignOut },
  {
    ...person,
    name: 'people export',
    about: 'print everything stored about a user, without secrets',
    options: whoAndWhy,
    json: 'always',
    changes: false,
    run: peopleExport,
  },
  {
    ...change,
    name: 'people erase',
    about: 'delete what is stored about a user, and say what stays',
    failure: 'the end of an elicitation is being decided: repeat it later',
    run: peopleErase,
  },
];
