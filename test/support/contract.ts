import {
  bodyProblems,
  commonProblems,
  type Operation,
  type OperationId,
  openApiDocument,
  operations,
  type ProblemBody,
  type ProblemCode,
  problemSchema,
  problems,
} from '@postern/api';
import { expect } from 'vitest';
import type { Answer } from './world.ts';

type Described = { paths: Record<string, Record<string, { responses: Record<string, unknown> }>> };

const document = openApiDocument('http://localhost') as unknown as Described;

/** Statuses that the published document lists for a call. */
function documentedStatuses(operationId: OperationId): string[] {
  const { path, method } = operations[operationId];
  return Object.keys(document.paths[path]?.[method.toLowerCase()]?.responses ?? {});
}

/** Asserts that the contract describes this response: status, content type and exact members. */
export function expectInContract(operationId: OperationId, answer: Answer<unknown>): void {
  const operation: Operation = operations[operationId];
  expect(documentedStatuses(operationId)).toContain(String(answer.status));
  if (operation.responses[answer.status] !== undefined) {
    expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
    expect(operation.output.parse(answer.body)).toEqual(answer.body);
    return;
  }
  const { code } = expectProblem(answer);
  expect([...commonProblems, ...bodyProblems, ...operation.problems]).toContain(code);
}

/** A problem (RFC 9457) as this contract defines it. */
export function expectProblem(answer: Answer<unknown>, code?: ProblemCode): ProblemBody {
  expect(answer.headers.get('content-type')).toBe('application/problem+json; charset=utf-8');
  const problem = problemSchema.strict().parse(answer.body);
  expect(problem).toMatchObject({
    type: `urn:postern:problem:${problem.code}`,
    title: problems[problem.code].title,
    status: answer.status,
  });
  expect(problem.status).toBe(problems[problem.code].status);
  expect(problem.requestId).toMatch(/^rq_[A-Za-z0-9_-]{16}$/);
  if (code !== undefined) expect(problem.code).toBe(code);
  if (answer.status === 429 || answer.status === 503)
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  if (answer.status === 401) expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer/);
  return problem;
}
