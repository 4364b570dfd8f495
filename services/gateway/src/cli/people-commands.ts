import type { AdminOutput } from './admin-door.ts';
import { counted } from './cli-io.ts';
import type { Command, Invocation } from './command.ts';
import { type Column, operationCommand, tableWith } from './operation-command.ts';

function erasedText({ left, ...done }: AdminOutput<'erasePerson'>, { dryRun }: Invocation): string {
  const { stillDeciding = 0 } = done;
  return [
    `${dryRun ? 'Would delete' : 'Deleted'}: ${counted(done.open, 'open elicitation')}, ` +
      `${counted(done.connections, 'connection')}, ${counted(done.credentials, 'credential')}, ` +
      `${counted(done.mutedMcpServers, 'mute')}, passkeys and browser sessions.`,
    `Left: ${counted(left.endedElicitations, 'ended elicitation')} for retention.endedHours, ` +
      `${counted(left.payments, 'payment')} among them. Payment records stay for payment.retentionDays, ` +
      'grants until they are revoked, and the audit trail under the pseudonym.',
    ...(stillDeciding === 0
      ? []
      : [`${counted(stillDeciding, 'elicitation')} being paid or verified. Repeat the command when they have ended.`]),
    '',
  ].join('\n');
}

function passkeysText({ passkeys, subject }: AdminOutput<'resetPasskeys'>, { dryRun }: Invocation): string {
  const removed = `${counted(passkeys, 'passkey')} of ${subject}`;
  return dryRun
    ? `Would remove ${removed}.\n`
    : `Removed ${removed}. The next one can approve payments 24 hours after it was added.\n`;
}

type Person = AdminOutput<'showPerson'>;

const isEmpty = ({ person: _, ...lists }: Person): boolean => Object.values(lists).every(list => list.length === 0);

function textOf(of: Person): string {
  const ofElicitations: readonly Column<Person['open'][number]>[] = [
    ['elicitation', each => each.elicitationId],
    ['kind', each => each.kind],
    ['status', each => each.status],
    ['MCP server', each => each.mcpServerId],
  ];
  return [
    `Pseudonym in audit trail and lists: ${of.person.pseudonym}\n`,
    partOf('Connections', of.connections, [
      ['connection', each => each.connectionId],
      ['provider', each => each.provider],
      ['of', each => each.owner],
      ['connected at', each => each.connectedAt],
      ['state', each => (each.lost === undefined ? 'usable' : `lost (${each.lost.reason})`)],
    ]),
    partOf('Credentials', of.credentials, [
      ['credential', each => each.credentialId],
      ['name', each => each.name],
      ['of', each => each.owner],
      ['saved at', each => each.savedAt],
    ]),
    partOf('Open', of.open, [...ofElicitations, ['issued at', each => each.createdAt]]),
    partOf('Ended by this person', of.ended, [...ofElicitations, ['ended at', each => each.endedAt]]),
    partOf('Passkeys', of.passkeys, [
      ['name', each => each.name],
      ['added at', each => each.addedAt],
    ]),
    partOf('Browser sessions', of.browserSessions, [
      ['browser', each => each.browser ?? 'unknown'],
      ['signed in at', each => each.signedInAt],
      ['ends at', each => each.endsAt],
    ]),
    partOf('Muted MCP servers', of.mutedMcpServers, [
      ['MCP server', each => each.mcpServerId],
      ['muted at', each => each.mutedAt],
    ]),
  ].join('\n');
}

const partOf = <Item>(title: string, items: readonly Item[], columns: readonly Column<Item>[]): string =>
  items.length === 0 ? `${title}: none\n` : `${title}: ${items.length}\n${tableWith(columns, items)}\n`;

const person = { '<issuer>': 'issuer', '<subject>': 'subject' };

export const peopleCommands: readonly Command[] = [
  operationCommand({
    operation: 'showPerson',
    name: 'people show',
    about: 'list what is stored about a user, without secrets',
    arguments: person,
    isReasonOptional: true,
    text: textOf,
    failure: 'nothing is stored about the user',
    isFault: isEmpty,
    notes: of =>
      isEmpty(of) ? ['Nothing is stored about this person. Check issuer and subject: both must match exactly.'] : [],
  }),
  operationCommand({
    operation: 'signOutPerson',
    name: 'people sign-out',
    about: 'end all browser sessions of a user',
    arguments: person,
    json: ({ found }, { dryRun }) => ({ dryRun, browserSessions: found }),
    text: ({ found }, { dryRun }) => `${dryRun ? 'Would end' : 'Ended'} all browser sessions; ${found} were listed.\n`,
  }),
  operationCommand({
    operation: 'exportPerson',
    name: 'people export',
    about: 'print everything stored about a user, without secrets',
    arguments: person,
    text: undefined,
  }),
  operationCommand({
    operation: 'erasePerson',
    name: 'people erase',
    about: 'delete what is stored about a user, and say what stays',
    arguments: person,
    json: (done, { dryRun }) => ({ dryRun, ...done }),
    text: erasedText,
    failure: 'the end of an elicitation is being decided: repeat it later',
    isFault: ({ stillDeciding = 0 }) => stillDeciding > 0,
  }),
];

export const passkeysCommands: readonly Command[] = [
  operationCommand({
    operation: 'resetPasskeys',
    name: 'passkeys reset',
    about: 'remove all passkeys of a user; the next one approves payments after 24 hours',
    arguments: person,
    json: (done, { dryRun }) => ({ dryRun, ...done }),
    text: passkeysText,
    notFound: 'This user has no passkey. Check issuer and subject: both must match exactly.',
    failure: 'the user has no passkey',
  }),
];
