import { type Audit, about } from './audit.ts';
import type { Elicitation } from './elicitation.ts';
import { WrongPersonError } from './errors.ts';
import { isSamePerson, type Visitor } from './visitor.ts';

/** The same-person rule with its consequence: somebody else leaves an audit event, and nothing more. */
export function createSamePersonCheck(audit: Audit) {
  /** For callers that go on in another way when it is somebody else. */
  function checkSamePerson(elicitation: Elicitation, visitor: Visitor): boolean {
    if (isSamePerson(elicitation, visitor)) return true;
    audit(
      {
        type: 'wrong_person',
        ...about(elicitation),
        ...(visitor.kind === 'signed_in' ? { visitor: visitor.subject } : {}),
      },
      elicitation,
    );
    return false;
  }

  /** @throws WrongPersonError */
  function assertSamePerson(elicitation: Elicitation, visitor: Visitor): void {
    if (!checkSamePerson(elicitation, visitor)) throw new WrongPersonError();
  }

  return { checkSamePerson, assertSamePerson };
}

export type SamePersonCheck = ReturnType<typeof createSamePersonCheck>['assertSamePerson'];
