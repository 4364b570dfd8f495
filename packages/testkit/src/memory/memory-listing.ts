import {
  type CountedStep,
  type CountReader,
  compareListEntries,
  countedSteps,
  type DecisionCount,
  type ListEntry,
  type OutboxEntry,
  type RecordList,
  type RecordLists,
  type Shard,
  type StepCount,
} from '@postern/elicitation';

/** Computes the lists from the records. */
export class MemoryRecordLists implements RecordLists {
  readonly #entriesOf: (list: RecordList) => readonly ListEntry[];

  constructor(entriesOf: (list: RecordList) => readonly ListEntry[]) {
    this.#entriesOf = entriesOf;
  }

  async page({ list, shard, before, limit }: Parameters<RecordLists['page']>[0]): Promise<readonly ListEntry[]> {
    return this.#of(list, shard)
      .filter(entry => before === undefined || compareListEntries(before, entry) < 0)
      .sort(compareListEntries)
      .slice(0, limit);
  }

  async size(list: RecordList, shard: Shard): Promise<number> {
    return this.#of(list, shard).length;
  }

  #of(list: RecordList, shard: Shard): ListEntry[] {
    return this.#entriesOf(list).filter(({ id }) => id.slice(3, 5) === shard);
  }
}

const HOUR_MS = 3_600_000;
const LONGEST_S = 65_536;
const decided: ReadonlySet<string> = new Set(['completed', 'declined', 'failed']);

/** Counts what is added to a feed. */
export class MemoryCounts implements CountReader {
  readonly #steps = new Map<string, StepCount>();
  readonly #decisions = new Map<string, DecisionCount>();

  /** Called once for each event. */
  note(mcpServerId: string, { event, occurredAt, provider, tookMs }: OutboxEntry): void {
    const { kind } = event;
    const step = stepOf(event);
    if (step === undefined) return;
    const at = Math.floor(occurredAt / HOUR_MS) * HOUR_MS;
    const key = JSON.stringify([mcpServerId, at, step, kind, provider]);
    const asked = provider === undefined ? {} : { provider };
    this.#steps.set(key, { at, step, kind, ...asked, count: (this.#steps.get(key)?.count ?? 0) + 1 });
    if (!decided.has(step) || tookMs === undefined) return;
    const withinSeconds = Math.min(2 ** Math.max(0, Math.ceil(Math.log2(tookMs / 1_000))), LONGEST_S);
    const decision = JSON.stringify([mcpServerId, at, kind, withinSeconds]);
    const count = (this.#decisions.get(decision)?.count ?? 0) + 1;
    this.#decisions.set(decision, { at, kind, withinSeconds, count });
  }

  async size(mcpServerId: string, day: string) {
    const { steps, decisions } = await this.read(mcpServerId, day);
    return steps.length + decisions.length;
  }

  async read(mcpServerId: string, day: string) {
    const of = <Row extends { readonly at: number }>(counts: ReadonlyMap<string, Row>) =>
      [...counts]
        .filter(([key, { at }]) => key.startsWith(`["${mcpServerId}",`) && new Date(at).toISOString().startsWith(day))
        .map(([, row]) => row);
    return { steps: of(this.#steps), decisions: of(this.#decisions) };
  }
}

function stepOf({ eventId, type }: OutboxEntry['event']): CountedStep | undefined {
  const status = type.slice('elicitation.'.length);
  const version = eventId.slice(eventId.lastIndexOf('.') + 1);
  if (version === '1') return 'issued';
  return countedSteps.find(step => step === status) ?? (version === '2' ? 'opened' : undefined);
}
