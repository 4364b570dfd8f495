import type { Amount, Charge, Dispute, ReportedRefund } from '@postern/elicitation';
import {
  type ChargeEvent,
  type ChargeStatus,
  type OpenCharge,
  type PaymentEvent,
  type PaymentProcessor,
  ProcessorError,
  type TermsCheck,
} from '@postern/payment';

type Verb = 'open' | 'status' | 'close' | 'refund' | 'refunds' | 'disputes';
/** An amount that the processor cannot pay back exactly. */
export const IMPOSSIBLE_REFUND = 13;

type CalledAbout =
  | (Omit<ChargeEvent, 'namesGateway'> & Partial<ChargeEvent>)
  | (Omit<PaymentEvent, 'namesGateway'> & Partial<PaymentEvent>);

type Fault = 'refused' | 'unavailable';

/** A payment processor in memory, with scripted results and a record of its calls. */
export function createScriptedProcessor(name = 'stripe-main') {
  const charges = new Map<string, { readonly charge: Charge; readonly amount: Amount; status: ChargeStatus }>();
  const byKey = new Map<string, string>();
  const faults: { readonly verb: Verb; readonly fault: Fault; readonly isAfterwards: boolean }[] = [];
  const asked: { readonly verb: Verb; readonly of: string }[] = [];
  const heard: (ChargeEvent | PaymentEvent)[] = [];
  const refunds: (ReportedRefund & { readonly of: string })[] = [];
  const disputes: (Dispute & { readonly of: string })[] = [];
  let impossible: TermsCheck | undefined;
  let refundsBegin: ReportedRefund['status'] = 'succeeded';
  let refundsOther: number | undefined;
  let before: ((verb: Verb) => Promise<void> | void) | undefined;

  const chargeAt = (reference: string) => {
    const found = charges.get(reference);
    if (found === undefined) throw new ProcessorError('unavailable', { processorCode: 'resource_missing' });
    return found;
  };

  /** A fault occurs before the effect, or the response is lost after it. */
  async function step<T>(verb: Verb, of: string, effect: () => T): Promise<T> {
    asked.push({ verb, of });
    await before?.(verb);
    const at = faults.findIndex(fault => fault.verb === verb);
    const [fault] = at === -1 ? [] : faults.splice(at, 1);
    if (fault !== undefined && !fault.isAfterwards) {
      throw new ProcessorError(fault.fault, {
        processorCode: 'told_to',
        processorStatus: 403,
        processorRequestId: 'req_told',
      });
    }
    const result = effect();
    if (fault !== undefined) throw new ProcessorError('unavailable');
    return result;
  }

  const processor: PaymentProcessor = {
    name,
    displayName: 'Stripe',
    destinationHost: 'checkout.example',
    expectedMode: 'test',
    canTake: () => impossible ?? { result: 'possible' },
    open: ({ key, terms }: OpenCharge) =>
      step('open', key, () => {
        const reference = byKey.get(key) ?? `cs_${charges.size + 1}`;
        const known = charges.get(reference);
        if (known !== undefined) return known.charge;
        const charge = { reference, url: `https://checkout.example/${reference}`, mode: 'test' as const };
        charges.set(reference, { charge, amount: terms.amount, status: { state: 'open' } });
        byKey.set(key, reference);
        return charge;
      }),
    status: reference => step('status', reference, () => chargeAt(reference).status),
    close: reference =>
      step('close', reference, () => {
        const found = chargeAt(reference);
        if (found.status.state === 'open') found.status = { state: 'closed' };
        return found.status;
      }),
    canRefund: ({ minorUnits }) => minorUnits !== IMPOSSIBLE_REFUND,
    refund: ({ refundId, processorReference, amount }) =>
      step('refund', refundId, () => {
        const made = refunds.find(refund => refund.refundId === refundId);
        if (made !== undefined) return plain(made);
        const { minorUnits } = { ...amount, ...(refundsOther !== undefined && { minorUnits: refundsOther }) };
        const given = { of: processorReference, processorReference: `re_${refunds.length + 1}`, createdAt: 1 };
        refunds.push({ ...given, refundId, minorUnits, status: refundsBegin });
        return plain(refunds.at(-1));
      }),
    refunds: reference =>
      step('refunds', reference, () => refunds.filter(refund => refund.of === reference).map(plain)),
    disputes: reference =>
      step('disputes', reference, () => disputes.filter(dispute => dispute.of === reference).map(plain)),
    webhook: async () => heard.shift(),
  };

  return {
    processor,
    asked: asked as readonly { readonly verb: Verb; readonly of: string }[],
    references: () => [...charges.keys()],

    pay(reference: string, change: Partial<Amount> = {}): void {
      const found = chargeAt(reference);
      const amount = { ...found.amount, ...change };
      found.status = { state: 'paid', processorReference: `pi_${reference}`, amount, mode: 'test' };
    },
    becomes(reference: string, state: 'open' | 'processing' | 'closed'): void {
      chargeAt(reference).status = { state };
    },
    /** Refuses payments at issue. */
    takesNothing(answer: TermsCheck): void {
      impossible = answer;
    },
    /** Refunds at the processor. */
    refundsOf: (reference: string): readonly ReportedRefund[] =>
      refunds.filter(({ of }) => of === reference).map(plain),
    /** Status of new refunds. */
    refundsBeginAs(status: ReportedRefund['status']): void {
      refundsBegin = status;
    },
    /** New refunds are of this amount, whatever was ordered. */
    refundsInstead(minorUnits: number): void {
      refundsOther = minorUnits;
    },
    refundBecomes(processorReference: string, status: ReportedRefund['status'], failure?: string): void {
      const at = refunds.findIndex(refund => refund.processorReference === processorReference);
      const [found] = refunds.slice(at);
      if (found === undefined) throw new Error('no such refund');
      refunds[at] = { ...found, status, ...(failure !== undefined && { failure }) };
    },
    /** Somebody makes a refund in the dashboard. */
    refundsThere(of: string, minorUnits: number): void {
      const processorReference = `re_${refunds.length + 1}`;
      refunds.push({ of, processorReference, minorUnits, status: 'succeeded', createdAt: 1 });
    },
    disputes(of: string, dispute: Dispute): void {
      const at = disputes.findIndex(({ processorReference }) => processorReference === dispute.processorReference);
      disputes.splice(at === -1 ? disputes.length : at, at === -1 ? 0 : 1, { ...dispute, of });
    },
    /** The next call of this verb fails before it has an effect. */
    failsNext: (verb: Verb, fault: Fault = 'unavailable') => void faults.push({ verb, fault, isAfterwards: false }),
    /** The next call of this verb has its effect, but its response is lost. */
    losesNext: (verb: Verb) => void faults.push({ verb, fault: 'unavailable', isAfterwards: true }),
    /** Runs before every call. Replaces the previous hook. */
    interrupt(with_: typeof before): void {
      before = with_;
    },
    /** Queues the event of the next webhook. */
    calls: (about: CalledAbout) => void heard.push({ namesGateway: true, ...about }),
  };
}

/** What the processor reports. @throws TypeError if there is nothing */
function plain<T extends { readonly of: string }>(entry: T | undefined): Omit<T, 'of'> {
  if (entry === undefined) throw new TypeError('nothing was made');
  const { of: _, ...rest } = entry;
  return rest;
}
