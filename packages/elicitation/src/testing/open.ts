import type { Elicitation } from '../elicitation.ts';
import type { ElicitationService } from '../elicitation-service.ts';
import { NotFoundError } from '../errors.ts';
import type { ElicitationId } from '../ids.ts';
import type { Visitor } from '../same-person-check.ts';

/** Reads an elicitation like a page: found first, then shown only to its subject. */
export async function open(
  service: Pick<ElicitationService, 'find' | 'assertSamePerson'>,
  elicitationId: ElicitationId,
  visitor: Visitor,
): Promise<Elicitation> {
  const elicitation = await service.find(elicitationId);
  if (elicitation === undefined) throw new NotFoundError();
  service.assertSamePerson(elicitation, visitor);
  return elicitation;
}
