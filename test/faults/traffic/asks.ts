import type { IssueElicitationInput } from '@postern/api';
import { askOfEach } from '../../support/every-kind.ts';
import type { FaultWorld } from '../fault-world.ts';
import { plantedSecret } from '../fault-world.ts';
import type { FaultRun } from '../scenario.ts';

export const trafficKinds = ['confirmation', 'authorization', 'credential', 'form', 'payment'] as const;
export type TrafficKind = (typeof trafficKinds)[number];

/** The request of one flow, and the input of an approving user. */
export interface Ask {
  readonly body: IssueElicitationInput;
  /** Values by field name. */
  readonly typed: Readonly<Record<string, string>>;
}

/** All flows have different requests, except authorizations, where an equal request returns the same connection. */
export function askOf(
  run: FaultRun,
  world: FaultWorld,
  p: { readonly kind: TrafficKind; readonly subject: string; readonly name: string; readonly ttlSeconds: number },
): Ask {
  const { kind, name, ttlSeconds } = p;
  const common = {
    subject: { issuer: world.world.identityProvider.issuer, subject: p.subject },
    message: `Asked in ${name}`,
    ttlSeconds,
  };
  const secret = () => plantedSecret(run, name);
  switch (kind) {
    case 'authorization':
      return { body: { ...common, kind, authorization: { provider: 'forge', scopes: ['repo'] } }, typed: {} };
    case 'confirmation': {
      const { confirmation } = askOfEach.confirmation.ask();
      return { body: { ...common, kind, confirmation: { ...confirmation, title: `Do ${name}` } }, typed: {} };
    }
    case 'payment':
      return { body: { ...common, ...askOfEach.payment.ask() } as IssueElicitationInput, typed: {} };
    case 'credential': {
      const field = { name: 'api_key', label: 'API key' };
      return {
        body: { ...common, kind, credential: { name: 'acme-api', title: `Key for ${name}`, fields: [field] } },
        typed: { api_key: secret() },
      };
    }
    case 'form': {
      const { form } = askOfEach.form.ask();
      return {
        body: { ...common, kind, form: { ...form, title: `Form of ${name}` } },
        typed: { name: secret(), parcels: '2' },
      };
    }
  }
}
