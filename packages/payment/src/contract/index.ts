import { describeOpen } from './open-contract.ts';
import type { MakeProcessorWorld } from './processor-world.ts';
import { describeStatus } from './status-contract.ts';
import { describeWebhook } from './webhook-contract.ts';

export type { MakeProcessorWorld, ProcessorVerb, ProcessorWorld } from './processor-world.ts';

/** The contract of every payment processor. Each suite creates its own world. */
export function describePaymentProcessor(name: string, makeWorld: MakeProcessorWorld): void {
  describeOpen(name, makeWorld);
  describeStatus(name, makeWorld);
  describeWebhook(name, makeWorld);
}
