import { type AdminOperation, type AdminOperationId, adminOperations } from '@postern/api/admin';
import { type AdminDoor, type AdminOutput, membersIn, openDoor, throughUrl } from './admin-door.ts';
import { CliError, type CliIo, type ExitCode, exitCodes, tableOf } from './cli-io.ts';
import { actorOf, type Command, changingActor, type Invocation, whoAndWhy } from './command.ts';

/** How a command shows one operation of the admin API. */
interface OperationCommand<Id extends AdminOperationId> extends Pick<Command, 'name' | 'about' | 'failure'> {
  readonly operation: Id;
  /** The arguments in their order, as the help names them, each with the member of the input that it is. */
  readonly arguments?: Readonly<Record<string, string>>;
  /** Members of the input besides arguments and `--dry-run`. @throws CliError, UsageError */
  readonly input?: (
    p: Invocation,
    io: CliIo,
  ) => Readonly<Record<string, unknown>> | Promise<Readonly<Record<string, unknown>>>;
  /** Whether the reason is optional here, although the scope of the operation is not `read`. */
  readonly isReasonOptional?: true;
  /** Whether a credential in the environment is enough to go through the gateway. */
  readonly isTokenEnough?: true;
  /** Before the operation. @throws CliError */
  readonly before?: (door: AdminDoor) => Promise<unknown>;
  /** Instead of the operation, in the own process. */
  readonly local?: (door: NonNullable<AdminDoor['local']>) => Promise<AdminOutput<Id>>;
  /** Said if the operation finds nothing. */
  readonly notFound?: string | ((p: Invocation) => string);
  /** Default: as the operation returns it. */
  readonly json?: (output: AdminOutput<Id>, p: Invocation) => object;
  /** Undefined: JSON, whether or not `--json` is there. */
  readonly text: ((output: AdminOutput<Id>, p: Invocation) => string) | undefined;
  /** Notes for standard error. */
  readonly notes?: (output: AdminOutput<Id>) => readonly string[];
  /** Whether the output shows a fault, so that the command exits with 1. */
  readonly isFault?: (output: AdminOutput<Id>) => boolean;
}

/**
 * Renders an operation of the admin API as a command, with the arguments and options of its input. The command runs it in its own
 * process, so that it works without a gateway, or with `--url` through the admin API.
 */
export function operationCommand<Id extends AdminOperationId>(of: OperationCommand<Id>): Command {
  const operation: AdminOperation = adminOperations[of.operation];
  const hasDryRun = membersIn(operation.body).includes('dryRun');
  const needsReason = operation.scope !== 'read' && of.isReasonOptional !== true;
  const who = operation.scope === 'read' ? {} : needsReason ? whoAndWhy : ({ by: true, reason: true } as const);
  const names = Object.keys(of.arguments ?? {});
  return {
    name: of.name,
    about: of.about,
    ...(names.length > 0 && { parameters: names }),
    options: { ...who, ...throughUrl },
    json: of.text === undefined ? 'always' : 'document',
    changes: hasDryRun,
    ...(of.failure !== undefined && { failure: of.failure }),
    async run(p, io): Promise<ExitCode> {
      const actor = needsReason ? changingActor(p) : actorOf(p.values);
      const named = Object.values(of.arguments ?? {}).map((member, at) => [member, p.args[at]] as const);
      const members = {
        ...Object.fromEntries(named),
        ...(await of.input?.(p, io)),
        ...(hasDryRun && { dryRun: p.dryRun }),
      };
      await using door = await openDoor(p, io, { actor, ...(of.isTokenEnough && { isTokenEnough: true }) });
      await of.before?.(door);
      const { local } = door;
      const isOwn = of.local !== undefined && local !== undefined;
      const output = isOwn ? await of.local(local) : await door.callWith(of.operation, members);
      if (output === undefined) throw new CliError(notFoundText(of.notFound, p));
      const document = of.json?.(output, p) ?? output;
      if (of.text === undefined) io.out(`${JSON.stringify(document, null, 2)}\n`);
      else io.out(p.json ? `${JSON.stringify(document)}\n` : of.text(output, p));
      for (const note of of.notes?.(output) ?? []) io.err(`${note}\n`);
      return of.isFault?.(output) === true ? exitCodes.failure : exitCodes.ok;
    },
  };
}

const notFoundText = (text: OperationCommand<AdminOperationId>['notFound'] = 'Not found.', p: Invocation): string =>
  typeof text === 'string' ? text : text(p);

/** A column of a table: its title, and the cell of an item. */
export type Column<Item> = readonly [title: string, cell: (item: Item) => unknown];

/** A table of items, with `-` in the cells without a value. */
export const tableWith = <Item>(columns: readonly Column<Item>[], items: readonly Item[]): string =>
  tableOf(
    columns.map(([title]) => title),
    items.map(item => columns.map(([, cell]) => String(cell(item) ?? '-'))),
  );
