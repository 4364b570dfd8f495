/** For tests: assertions that several page tests share. */
import { expect } from 'vitest';

/** Returns the text of markup, with collapsed white space. */
export const textOf = (markup: string) => markup.replace(/<[^<>]*>/g, '').replace(/\s/gu, ' ');

/** Asserts that all texts occur, and that their first occurrences are in this order. */
export function expectOrder(markup: string, pieces: readonly string[]): void {
  const order = pieces.map(piece => markup.indexOf(piece));
  expect(order).not.toContain(-1);
  expect(order).toEqual(order.toSorted((a, b) => a - b));
}

/** Returns the targets of the forms with this content. */
export const actionsWith = (markup: string, content: string) =>
  [...markup.matchAll(/<form [^>]*action="([^"]*)".*?<\/form>/g)]
    .filter(([form]) => form.includes(content))
    .map(([, action]) => action);
