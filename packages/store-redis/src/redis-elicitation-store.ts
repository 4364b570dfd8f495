import {
  type CreateElicitation,
  type CreateResult,
  type Elicitation,
  type ElicitationId,
  type ElicitationStore,
  isTerminal,
  newOperationId,
  oldestFirst,
  type RedeemElicitation,
  type RedeemResult,
  type Shard,
  type Subject,
  shardIn,
  shardOf,
  systemEntropy,
  type TerminalElicitation,
  type TransitionElicitation,
  type TransitionResult,
} from '@postern/elicitation';
import { createElicitation, type ElicitationScripts } from './create-elicitation.ts';
import { ELICITATION_FIELDS, elicitationIdOf, elicitationOf } from './records/elicitation-record.ts';
import { layoutNamedIn, unreadable } from './records/record-layout.ts';
import { decodeResult } from './records/result-record.ts';
import { RedisPort } from './redis-port.ts';
import { isAbsent, listOf, numberOf, textOf, unknownResult } from './reply.ts';
import { transitionElicitation } from './transition-elicitation.ts';

export class RedisElicitationStore extends RedisPort implements ElicitationStore {
  readonly #scripts: ElicitationScripts;

  constructor(scripts: ElicitationScripts) {
    super(scripts.link, scripts.keys);
    this.#scripts = scripts;
  }

  create(request: CreateElicitation): Promise<CreateResult> {
    return createElicitation(this.#scripts, request);
  }

  async read(elicitationId: ElicitationId): Promise<Elicitation | undefined> {
    const key = this.keys.elicitation(elicitationId);
    const reply = await this.link.callFor('readElicitation', 'hmget', key, ...ELICITATION_FIELDS);
    const found = listOf(reply);
    return isAbsent(found[0]) ? undefined : elicitationOf(elicitationId, found);
  }

  transition(request: TransitionElicitation): Promise<TransitionResult> {
    return transitionElicitation(this.#scripts, request);
  }

  async redeem({ elicitationId, redemption }: RedeemElicitation): Promise<RedeemResult> {
    const shard = shardIn(elicitationId);
    const reply = await this.repeatable(
      'redeemElicitation',
      {
        elicitation: this.keys.elicitation(elicitationId),
        result: this.keys.result(elicitationId),
        open: this.keys.open(shard),
        held: this.keys.held(shard),
      },
      // Each call has a unique id, so a retry after a lost reply recognizes the redemption as its own.
      {
        elicitationId,
        redemption,
        call: newOperationId(systemEntropy),
        retentionMs: this.#scripts.retentionMs,
      },
    );
    const [result, ...rest] = listOf(reply);
    switch (result) {
      case 'redeemed': {
        const [isFirst, ...found] = rest;
        const sealed = found[ELICITATION_FIELDS.length];
        return {
          result,
          elicitation: completedOf(elicitationId, found),
          ...(isAbsent(sealed) ? {} : { sealed: decodeResult(textOf(sealed)) }),
          isFirst: isFirst === '1',
        };
      }
      case 'spent':
        return { result, elicitation: completedOf(elicitationId, rest) };
      case 'unredeemable':
        return { result, elicitation: elicitationOf(elicitationId, rest) };
      case 'missing':
        return { result };
      case 'unreadable':
        throw unreadable(layoutNamedIn(textOf(rest[0])));
      default:
        throw unknownResult();
    }
  }

  async due(shard: Shard, limit: number): Promise<readonly ElicitationId[]> {
    const reply = await this.once(
      'dueElicitations',
      { due: this.keys.due(shard), open: this.keys.open(shard), held: this.keys.held(shard) },
      { limit, retentionMs: this.#scripts.retentionMs },
    );
    return listOf(reply).map(elicitationIdOf);
  }

  async postpone(elicitationId: ElicitationId, delayMs: number): Promise<void> {
    const shard = shardIn(elicitationId);
    await this.repeatable(
      'postponeElicitation',
      { elicitation: this.keys.elicitation(elicitationId), due: this.keys.due(shard), held: this.keys.held(shard) },
      { elicitationId, delayMs },
    );
  }

  async listOpen(subject: Subject, mcpServerIds: readonly string[]): Promise<readonly Elicitation[]> {
    const found = await Promise.all(mcpServerIds.map(mcpServerId => this.#openAt(mcpServerId, subject)));
    return found.flat().sort(oldestFirst(({ elicitationId: id, createdAt: at }) => ({ id, at })));
  }

  async #openAt(mcpServerId: string, subject: Subject): Promise<readonly Elicitation[]> {
    const openOf = this.keys.openOf(shardOf(subject), mcpServerId, subject);
    const reply = await this.repeatable('openElicitations', { openOf }, {});
    const [now, ...ids] = listOf(reply);
    const found = await this.all(ids, elicitationIdOf, id => this.read(id));
    // The records filter out elicitations that ended between both reads, or that expired without the index knowing.
    return found.filter(elicitation => !isTerminal(elicitation) && elicitation.expiresAt > numberOf(now));
  }

  async listEnded(subject: Subject, voucher?: string): Promise<readonly TerminalElicitation[]> {
    const key = this.keys.endedOf(shardOf(subject), subject, voucher);
    const ids = await this.link.call('zrange', key, 0, -1, 'REV');
    // Omits a record that has expired meanwhile.
    return (await this.all(ids, elicitationIdOf, id => this.read(id))).filter(elicitation => isTerminal(elicitation));
  }
}

function completedOf(elicitationId: ElicitationId, found: readonly unknown[]) {
  const elicitation = elicitationOf(elicitationId, found);
  if (elicitation.status !== 'completed') throw unknownResult();
  return elicitation;
}
