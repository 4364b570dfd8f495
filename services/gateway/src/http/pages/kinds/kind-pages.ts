import type { CompletedElicitation, ElicitationOf, Kind } from '@postern/elicitation';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ById, DecisionForm, Present } from '../presence.ts';

export type PresentOf<K extends Kind> = Present & { readonly elicitation: ElicitationOf<K> };
export type CompletedOf<K extends Kind> = Present & { readonly elicitation: CompletedElicitation & ElicitationOf<K> };
export type PageRequest = FastifyRequest<ById>;

/** What differs from kind to kind on the pages of an elicitation. Whoever calls has made sure who is there. */
export interface KindPages<K extends Kind> {
  /** While it is open: the page that asks, or the one that goes on with what was agreed. */
  ask(request: PageRequest, reply: FastifyReply, present: PresentOf<K>): Promise<FastifyReply>;
  /** After its completion. */
  done(request: PageRequest, reply: FastifyReply, present: CompletedOf<K>): Promise<FastifyReply>;
  /** The person pressed the accepting button. */
  accept(request: PageRequest, reply: FastifyReply, present: PresentOf<K>, form: DecisionForm): Promise<FastifyReply>;
}
