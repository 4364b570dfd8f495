import type { Amount, Charge } from '@postern/elicitation';
import {
  type ChargeEvent,
  type ChargeStatus,
  type OpenCharge,
  type PaymentProcessor,
  ProcessorError,
  type TermsCheck,
} from '@postern/payment';

type Verb = 'open' | 'status' | 'close';
type Fault = 'refused' | 'unavailable';

/** A payment processor in memory, with scripted results and a record of its calls. */
export function createScriptedProcessor(name = 'stripe-main') {
  const charges = new Map<string, { readonly charge: Charge; readonly amount: Amount; status: ChargeStatus }>();
  const byKey = new Map<string, string>();
  const faults: { readonly verb: Verb; readonly fault: Fault; readonly isAfterwards: boolean }[] = [];
  const asked: { readonly verb: Verb; readonly of: string }[] = [];
  const heard: ChargeEvent[] = [];
  let impossible: TermsCheck | undefined;
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
    /** The next call of this verb fails before it has an effect. */
    failsNext: (verb: Verb, fault: Fault = 'unavailable') => void faults.push({ verb, fault, isAfterwards: false }),
    /** The next call of this verb has its effect, but its response is lost. */
    losesNext: (verb: Verb) => void faults.push({ verb, fault: 'unavailable', isAfterwards: true }),
    /** Runs before every call. Replaces the previous hook. */
    interrupt(with_: typeof before): void {
      before = with_;
    },
    /** Queues the event of the next webhook. */
    calls: (about: Omit<ChargeEvent, 'namesGateway'> & Partial<ChargeEvent>) =>
      void heard.push({ namesGateway: true, ...about }),
  };
}
