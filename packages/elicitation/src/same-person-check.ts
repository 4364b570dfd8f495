import { type Audit, about } from './audit.ts';
import type { Elicitation } from './elicitation.ts';
import { WrongPersonError } from './errors.ts';
import { isSamePerson, type Visitor } from './visitor.ts';

export type SamePersonCheck = (elicitation: Elicitation, visitor: Visitor) => void;

/** The same-person rule with its consequence: somebody else is refused and leaves an audit event, and nothing more. */
export function createSamePersonCheck(audit: Audit): SamePersonCheck {
  return (elicitation, visitor) => {
    if (isSamePerson(elicitation, visitor)) return;
    audit({
      type: 'wrong_person',
      ...about(elicitation),
      ...(visitor.kind === 'signed_in' ? { visitor: visitor.subject } : {}),
    });
    throw new WrongPersonError();
  };
}
