/** For tests: what several tests of pages look for. */
import { expect } from 'vitest';

/** The text of a piece of markup, with any space as one. */
export const textOf = (markup: string) => markup.replace(/<[^<>]*>/g, '').replace(/\s/gu, ' ');

/** All pieces are there, and the first of each kind stands in this order. */
export function expectOrder(markup: string, pieces: readonly string[]): void {
  const order = pieces.map(piece => markup.indexOf(piece));
  expect(order).not.toContain(-1);
  expect(order).toEqual(order.toSorted((a, b) => a - b));
}

/** Where the forms with this content post to. */
export const actionsWith = (markup: string, content: string) =>
  [...markup.matchAll(/<form [^>]*action="([^"]*)".*?<\/form>/g)]
    .filter(([form]) => form.includes(content))
    .map(([, action]) => action);
