import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { PosternUsageError } from './errors.ts';

/** Questions of one call. More is a wizard, which no tool call is; it bounds what a call carries between its runs. */
const MAX_STEPS = 32;

/**
 * One question within a call, and how far it got. The steps travel from run to run, so that what was answered stays answered
 * when a later question suspends the handler again.
 */
export const stepSchema = z.strictObject({
  /** Which question: digest of what is asked, and which occurrence of it within the run. */
  key: z.string(),
  /** Epoch milliseconds at which this call first asked. */
  askedAt: z.int(),
  /** Epoch milliseconds; later the user can no longer answer. */
  expiresAt: z.int(),
  /**
   * The `Idempotency-Key` with which the result is redeemed: a retry of this call presents it again and gets the same result,
   * any other call has another one and is refused.
   */
  redemption: z.string(),
  /** Absent as long as the MCP client is to ask itself (form mode). */
  elicitationId: z.string().optional(),
  /** The result was redeemed with `redemption`. */
  isDone: z.literal(true).optional(),
  /** What the MCP client said in place of the user. */
  refused: z.enum(['decline', 'cancel']).optional(),
  /** The content of a form that the MCP client asked for, once it fits. */
  content: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.array(z.string())])).optional(),
  /** Contents from the MCP client that did not fit. */
  misfits: z.int().optional(),
});

export type Step = z.infer<typeof stepSchema>;
export const stepsSchema = z.array(stepSchema).max(MAX_STEPS);

/** The steps of one run, with those that the runs before it left. */
export class Steps {
  readonly #byKey: Map<string, Step>;
  readonly #occurrences = new Map<string, number>();
  /** They come from this process's memory: nothing in the call says that it is the same one, made again. */
  readonly areRemembered: boolean;

  constructor(steps: readonly Step[], areRemembered: boolean) {
    this.#byKey = new Map(steps.map(step => [step.key, step]));
    this.areRemembered = areRemembered;
  }

  /** Names the next question with this digest. Asking twice for the same is two questions, in the order of the handler. */
  nextKey(digest: string): string {
    const occurrence = (this.#occurrences.get(digest) ?? 0) + 1;
    this.#occurrences.set(digest, occurrence);
    return occurrence === 1 ? digest : `${digest}.${occurrence}`;
  }

  get(key: string): Step | undefined {
    return this.#byKey.get(key);
  }

  /** @throws {PosternUsageError} `too_many_steps` */
  set(step: Step): void {
    if (!this.#byKey.has(step.key) && this.#byKey.size >= MAX_STEPS)
      throw new PosternUsageError('too_many_steps', `One call may ask ${MAX_STEPS} things at most.`);
    this.#byKey.set(step.key, step);
  }

  change(key: string, changes: Partial<Omit<Step, 'key'>>): void {
    const step = this.#byKey.get(key);
    if (step !== undefined) this.#byKey.set(key, { ...step, ...changes });
  }

  forget(key: string): void {
    this.#byKey.delete(key);
  }

  list(): readonly Step[] {
    return [...this.#byKey.values()];
  }
}

export function newStep(p: Pick<Step, 'key' | 'askedAt' | 'expiresAt'> & { elicitationId?: string }): Step {
  return { ...p, redemption: randomBytes(16).toString('base64url') };
}

/** Epoch milliseconds until which the steps are of use. */
export function lastExpiry(steps: readonly Step[]): number {
  return Math.max(0, ...steps.map(({ expiresAt }) => expiresAt));
}
