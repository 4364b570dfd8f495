import { type KeyEncryptionService, KeyServiceError, type KeyServiceFault, keyServiceFaultOf } from '@postern/vault';
import { requestContext } from '../../platform/http/request-context.ts';
import { Circuit } from '../../platform/overload/circuit.ts';
import { createSlots } from '../../platform/overload/slots.ts';

/** Concurrent requests to the service of one key. */
const CONCURRENT = 16;
/** Calls that may wait for one of these requests to end. */
const QUEUED = 256;

/** Called when the service of a key fails for another reason than before, or responds again (undefined). */
export type OnKeyServiceState = (fault: KeyServiceFault | undefined) => void;

/**
 * Protects the gateway from a slow key service: limits concurrent requests, queues a bounded number of calls, and stops asking for a
 * while after repeated timeouts. A request to the gateway that waits here is not in flight, so it takes no place of other requests.
 */
export function guardKeyService(
  service: KeyEncryptionService,
  p: { readonly now: () => number; readonly onState: OnKeyServiceState },
): KeyEncryptionService {
  const circuit = new Circuit({ now: p.now, onChange: () => {} });
  const slots = createSlots({
    count: CONCURRENT,
    queued: QUEUED,
    refuse: why => new KeyServiceError(why === 'full' ? 'overloaded' : 'timeout'),
  });
  let last: KeyServiceFault | undefined;

  function note(fault: KeyServiceFault | undefined): void {
    if (fault === last) return;
    last = fault;
    p.onState(fault);
  }

  async function inSlot<T extends { readonly result: string }>(signal: AbortSignal, ask: () => Promise<T>): Promise<T> {
    using _ = await slots.acquire(signal);
    const passage = circuit.pass({ isUrgent: false });
    if (passage === undefined) throw new KeyServiceError('paused');
    try {
      // The slot is free again after the timeout, even if the service ignores the signal.
      const answer = await Promise.race([askedAgain(ask), abortOf(signal)]);
      passage.answered();
      // Whether a value is authentic says nothing about the service. A missing key does.
      note(answer.result === 'unknown_key' ? 'key_unusable' : undefined);
      return answer;
    } catch (error) {
      const fault = signal.aborted ? 'timeout' : keyServiceFaultOf(error);
      if (fault === 'timeout') passage.timedOut();
      else passage.answered();
      note(fault);
      throw new KeyServiceError(fault);
    }
  }

  function guarded<T extends { readonly result: string }>(signal: AbortSignal, ask: () => Promise<T>): Promise<T> {
    const permit = requestContext()?.permit;
    const work = () => inSlot(signal, ask);
    return permit === undefined ? work() : permit.waitFor(work);
  }

  return {
    wrap: (...args) => guarded(args[3].signal, () => service.wrap(...args)),
    unwrap: (...args) => guarded(args[3].signal, () => service.unwrap(...args)),
  };
}

/**
 * The service may close an idle connection while a request on it is under way. Nothing has come back then, and neither verb changes
 * anything at the service, so the request is sent once more.
 */
async function askedAgain<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (keyServiceFaultOf(error) !== 'unreachable') throw error;
    return ask();
  }
}

function abortOf(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const abort = () => reject(new KeyServiceError('timeout'));
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
  });
}
