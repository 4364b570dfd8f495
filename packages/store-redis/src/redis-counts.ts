import {
  type CountReader,
  countedSteps,
  type DecisionCount,
  HOUR_MS,
  kinds,
  type StepCount,
} from '@postern/elicitation';
import { RedisPort } from './redis-port.ts';
import { fieldsOf, numberOf } from './reply.ts';

/** Reads what `commands/carry-events.lua` counts. */
export class RedisCounts extends RedisPort implements CountReader {
  async size(mcpServerId: string, day: string): Promise<number> {
    return Number(await this.link.call('hlen', this.keys.counts(mcpServerId, day)));
  }

  async read(mcpServerId: string, day: string) {
    const start = Date.parse(`${day}T00:00:00Z`);
    const steps: StepCount[] = [];
    const decisions: DecisionCount[] = [];
    for (const [field, value] of fieldsOf(await this.link.call('hgetall', this.keys.counts(mcpServerId, day)))) {
      const [hour = '', step = '', kindName = '', rest = ''] = field.split(' ');
      const kind = kinds.find(known => known === kindName);
      // A newer release may count more.
      if (kind === undefined) continue;
      const counted = { at: start + Number(hour) * HOUR_MS, kind, count: numberOf(value) };
      const known = countedSteps.find(name => name === step);
      if (step === 'within') decisions.push({ ...counted, withinSeconds: Number(rest) });
      else if (known !== undefined) steps.push({ ...counted, step: known, provider: rest || undefined });
    }
    return { steps, decisions };
  }
}
