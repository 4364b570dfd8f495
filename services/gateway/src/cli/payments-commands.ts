import { setTimeout as delay } from 'node:timers/promises';
import { problems } from '@postern/api';
import { DomainError, type ElicitationId, parseElicitationId } from '@postern/elicitation';
import { refusalText } from '../admin/refunds.ts';
import { ProblemError } from '../platform/http/problems.ts';
import { type AdminDoor, type AdminOutput, openDoor, throughUrl } from './admin-door.ts';
import {
  CliError,
  type CliIo,
  createProgress,
  type ExitCode,
  exitCodes,
  membersOf,
  tableOf,
  UsageError,
} from './cli-io.ts';
import { type Command, changingActor, type Invocation, whoAndWhy } from './command.ts';
import { operationCommand } from './operation-command.ts';

type PaymentReport = AdminOutput<'getPayment'>;
type Taken = PaymentReport['payments'][number];
type StartedRefund = AdminOutput<'startRefund'>;

/** Pause before the command looks again at a refund that a gateway makes, and how often it looks. */
const LOOK_MS = 300;
const LOOKS = 100;

function elicitationIdIn({ args: [named = ''] }: Invocation): ElicitationId {
  const elicitationId = parseElicitationId(named);
  if (elicitationId === undefined) throw new CliError('Not an elicitation id (el_…).');
  return elicitationId;
}

const UNKNOWN = 'No payment of this elicitation is stored. See payment.retentionDays.';
const amountOf = (minorUnits: number, currency: string) => `${minorUnits} minor units of ${currency}`;

function textOf({ payments, ...of }: PaymentReport): string {
  const { requested, ...facts } = of;
  const lines = membersOf(facts).map(([member, value]) => `${member.padEnd(13)}  ${value}\n`);
  const asked = requested && `${'requested'.padEnd(13)}  ${amountOf(requested.minorUnits, requested.currency)}\n`;
  const taken = payments.length === 0 ? nothingTaken(of) : payments.map(takenText).join('\n');
  return [...lines, asked ?? '', '\n', taken].join('');
}

/** While the elicitation is active, the processor may have taken money that the gateway has not heard of. */
const nothingTaken = ({ status }: Omit<PaymentReport, 'payments'>) =>
  status === 'active'
    ? 'No payment is recorded yet. The user may have paid: a running gateway asks the processor until it knows.\n'
    : 'No payment is recorded.\n';

function takenText(of: Taken): string {
  const rows = [
    ...of.refunds.map(each => ['refund', each.refundId, each.minorUnits, of.currency, each.status, each.requestedBy]),
    ...of.disputes.map(each => [
      ...['dispute', each.processorReference, each.minorUnits, each.currency, each.status, 'bank'],
    ]),
  ].map(row => row.map(String));
  return [
    `Payment ${of.processorReference} at ${of.processor}${of.mode === 'test' ? ' (test)' : ''}: ${amountOf(of.minorUnits, of.currency)}`,
    ...(of.completesElicitation ? [] : ['It completes no elicitation.']),
    `${of.refundedMinorUnits} paid back, ${of.refundableMinorUnits} can still be paid back.`,
    ...(rows.length === 0 ? [] : [tableOf(['what', 'id', 'minor units', 'currency', 'status', 'by'], rows)]),
    '',
  ].join('\n');
}

/** Reads `--minor-units`. @throws UsageError */
function minorUnitsIn({ values: { 'minor-units': text } }: Invocation): number | undefined {
  if (text === undefined) return undefined;
  if (!/^[1-9]\d{0,14}$/.test(text)) throw new UsageError('--minor-units must be a whole number above 0.');
  return Number(text);
}

/** Rethrows what refuses the refund, for the operator. */
function refused(error: unknown): never {
  if (error instanceof ProblemError) {
    const [fault] = error.errors ?? [];
    const named = fault?.path === 'processorReference' ? `--payment ${fault.message}` : fault?.message;
    throw new CliError(error.detail ?? named ?? error.message);
  }
  if (error instanceof DomainError && Object.hasOwn(problems, error.code)) throw new CliError(error.message);
  throw error;
}

/** `postern payments refund`: reserves the refund, and waits for the gateway that makes it. */
async function paymentsRefund(p: Invocation, io: CliIo): Promise<ExitCode> {
  const actor = changingActor(p);
  const [elicitationId, minorUnits] = [elicitationIdIn(p), minorUnitsIn(p)];
  const ask = { minorUnits, processorReference: p.values.payment };
  await using door = await openDoor(p, io, { actor });
  const parameters = { elicitationId };
  const plan = await door.call('planRefund', { parameters, body: ask }).catch(refused);
  if (plan === undefined) throw new CliError(UNKNOWN);
  const { currency, processorReference } = plan.payment;
  if (p.dryRun) {
    if (plan.refusal !== undefined) throw new CliError(refusalText(plan.refusal, plan.payment));
    if (p.json) io.out(`${JSON.stringify({ dryRun: true, ...plan })}\n`);
    else
      io.out(
        `Would pay back ${amountOf(plan.minorUnits, currency)} of 1 payment (${processorReference}); ${plan.leftMinorUnits} would be left.\n`,
      );
    return exitCodes.ok;
  }
  const started = await door.call('startRefund', { parameters, body: ask }).catch(refused);
  if (started === undefined) throw new CliError(UNKNOWN);
  const refund = await settled(door, started, io);
  if (p.json) io.out(`${JSON.stringify({ dryRun: false, ...refund })}\n`);
  else io.out(`Refund ${refund.refundId} of ${amountOf(refund.minorUnits, currency)}: ${refund.status}.\n`);
  if (refund.status === 'failed') io.err('The processor has refused or returned it. Nothing was paid back.\n');
  if (isWithGateway(refund)) {
    io.err(`A running gateway makes the refund. To see it: postern payments show ${elicitationId}\n`);
    if (io.signal.aborted) return exitCodes.interrupted;
  }
  return refund.status === 'failed' ? exitCodes.failure : exitCodes.ok;
}

/** The processor does not have it yet. */
const isWithGateway = ({ status, processorReference }: Pick<StartedRefund, 'status' | 'processorReference'>) =>
  status === 'pending' && processorReference === undefined;

/** Looks at the refund until the processor has it. Returns it at once if no gateway serves. */
async function settled(door: AdminDoor, started: StartedRefund, io: CliIo): Promise<StartedRefund> {
  const progress = createProgress(io);
  let refund = started;
  for (let looks = 0; looks < LOOKS && isWithGateway(refund) && !io.signal.aborted; looks += 1) {
    const replicas = await door.local?.store.stores.replicas.list();
    if (replicas?.some(({ status }) => status === 'serving') === false) break;
    progress.count('waiting for a gateway', looks);
    await delay(LOOK_MS, undefined, { signal: io.signal }).catch(() => undefined);
    const report = await door.call('getPayment', { parameters: { elicitationId: started.elicitationId } });
    const all = report?.payments.flatMap(({ refunds }) => refunds) ?? [];
    refund = { ...refund, ...all.find(({ refundId }) => refundId === started.refundId) };
  }
  progress.end();
  return refund;
}

export const paymentsCommands: readonly Command[] = [
  operationCommand({
    operation: 'getPayment',
    name: 'payments show',
    arguments: { '<elicitation id>': 'elicitationId' },
    about: 'print what was paid for an elicitation, its refunds and disputes, without the user',
    input: p => ({ elicitationId: elicitationIdIn(p) }),
    text: textOf,
    notFound: UNKNOWN,
    failure: 'no payment of this elicitation is stored',
  }),
  {
    name: 'payments refund',
    parameters: ['<elicitation id>'],
    about: 'pay back a payment, or a part of it; the same amount for the same reason once',
    options: { ...whoAndWhy, ...throughUrl, 'minor-units': true, payment: true },
    json: 'document',
    changes: true,
    canBeInterrupted: true,
    failure: 'the refund is not possible, or the processor has refused it',
    run: paymentsRefund,
  },
];
