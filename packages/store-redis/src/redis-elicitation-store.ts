import {
  type CreateElicitation,
  type CreateResult,
  type Elicitation,
  type ElicitationId,
  type ElicitationStore,
  isTerminal,
  newOperationId,
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
import { isAbsent, listOf, numberOf, textOf, unknownResult } from './reply.ts';
import { transitionElicitation } from './transition-elicitation.ts';

export class RedisElicitationStore implements ElicitationStore {
  readonly #scripts: ElicitationScripts;

  constructor(scripts: ElicitationScripts) {
    this.#scripts = scripts;
  }

  create(request: CreateElicitation): Promise<CreateResult> {
    return createElicitation(this.#scripts, request);
  }

  async read(elicitationId: ElicitationId): Promise<Elicitation | undefined> {
    const key = this.#scripts.keys.elicitation(elicitationId);
    const reply = await this.#scripts.link.callFor('readElicitation', 'hmget', key, ...ELICITATION_FIELDS);
    const found = listOf(reply);
    return isAbsent(found[0]) ? undefined : elicitationOf(elicitationId, found);
  }

  transition(request: TransitionElicitation): Promise<TransitionResult> {
    return transitionElicitation(this.#scripts, request);
  }

  async redeem({ elicitationId, redemption }: RedeemElicitation): Promise<RedeemResult> {
    const shard = shardIn(elicitationId);
    const reply = await this.#scripts.link.run(
      'redeemElicitation',
      [
        this.#scripts.keys.elicitation(elicitationId),
        this.#scripts.keys.result(elicitationId),
        this.#scripts.keys.open(shard),
        this.#scripts.keys.held(shard),
      ],
      // Each call has a unique id, so a retry after a lost reply recognizes the redemption as its own.
      [this.#scripts.link.clock(), elicitationId, redemption, newOperationId(systemEntropy), this.#scripts.retentionMs],
      { repeatable: true },
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
    const reply = await this.#scripts.link.run(
      'dueElicitations',
      [this.#scripts.keys.due(shard), this.#scripts.keys.open(shard), this.#scripts.keys.held(shard)],
      [this.#scripts.link.clock(), limit, this.#scripts.retentionMs],
    );
    return listOf(reply).map(elicitationIdOf);
  }

  async postpone(elicitationId: ElicitationId, delayMs: number): Promise<void> {
    const shard = shardIn(elicitationId);
    await this.#scripts.link.run(
      'postponeElicitation',
      [this.#scripts.keys.elicitation(elicitationId), this.#scripts.keys.due(shard), this.#scripts.keys.held(shard)],
      [this.#scripts.link.clock(), elicitationId, delayMs],
      { repeatable: true },
    );
  }

  async listOpen(subject: Subject, mcpServerIds: readonly string[]): Promise<readonly Elicitation[]> {
    const found = await Promise.all(mcpServerIds.map(mcpServerId => this.#openAt(mcpServerId, subject)));
    return found.flat().sort((a, b) => a.createdAt - b.createdAt || (a.elicitationId < b.elicitationId ? -1 : 1));
  }

  async #openAt(mcpServerId: string, subject: Subject): Promise<readonly Elicitation[]> {
    const index = this.#scripts.keys.openOf(shardOf(subject), mcpServerId, subject);
    const reply = await this.#scripts.link.run('openElicitations', [index], [this.#scripts.link.clock()], {
      repeatable: true,
    });
    const [now, ...ids] = listOf(reply);
    const found = await Promise.all(ids.map(id => this.read(elicitationIdOf(id))));
    // The records filter out elicitations that ended between both reads, or that expired without the index knowing.
    return found
      .filter(elicitation => elicitation !== undefined)
      .filter(elicitation => !isTerminal(elicitation) && elicitation.expiresAt > numberOf(now));
  }

  async listEnded(subject: Subject, voucher?: string): Promise<readonly TerminalElicitation[]> {
    const { keys, link } = this.#scripts;
    const ids = listOf(await link.call('zrange', keys.endedOf(shardOf(subject), subject, voucher), 0, -1, 'REV'));
    const found = await Promise.all(ids.map(id => this.read(elicitationIdOf(id))));
    // The record of an entry may have expired meanwhile.
    return found.filter(elicitation => elicitation !== undefined && isTerminal(elicitation));
  }
}

function completedOf(elicitationId: ElicitationId, found: readonly unknown[]) {
  const elicitation = elicitationOf(elicitationId, found);
  if (elicitation.status !== 'completed') throw unknownResult();
  return elicitation;
}
