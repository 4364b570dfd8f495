import type { McpServer } from '@modelcontextprotocol/server';
import type { Gate, ReceiptVerifier } from '@postern/mcp';
import { z } from 'zod';
import { BOOK_SHOP, books, euro, moods } from './book-catalogue.ts';
import type { Ledger } from './ledger.ts';
import { wishes } from './local-texts.ts';
import { subjectOf } from './subject-of.ts';
import { answer, failure } from './tool-results.ts';

const wishesSchema = z.object({
  mood: z.enum(moods),
  budget: z.int().min(5).max(500).default(20),
});

/** Tools of a shop: one that costs money, and one that asks for harmless data. */
export function registerBookShop(
  mcpServer: McpServer,
  p: { gate: Gate; receiptVerifier: ReceiptVerifier; ledger: Ledger },
): void {
  mcpServer.registerTool(
    'buy_book',
    {
      title: 'Buy a book',
      description: `Buys a book from ${BOOK_SHOP}: ${books.map(({ id, title, price }) => `${id} (${title}, ${euro(price)})`).join(', ')}.`,
      inputSchema: z.object({ book: z.string().describe(`${books.map(({ id }) => id).join(', ')}`) }),
    },
    p.gate.tool(async ({ book: id }, ctx) => {
      const book = books.find(candidate => candidate.id === id);
      if (book === undefined) return failure(`There are: ${books.map(candidate => candidate.id).join(', ')}.`);

      // The handler runs again after the decision, and must then ask for exactly the same payment.
      const amount = { currency: 'EUR', minorUnits: book.price };
      const items = [{ label: book.title, unitMinorUnits: book.price }];
      const reference = `Order of ${book.id}`;
      const payment = await ctx.gate.pay({ payee: { name: BOOK_SHOP }, amount, items, reference });

      // Charges only with a signed receipt that this person approved this payment.
      const subject = subjectOf(ctx.http?.authInfo);
      const { approval } = await p.receiptVerifier.verify(payment.receipt, {
        kind: 'payment',
        elicitationId: payment.elicitationId,
        subject,
        payee: BOOK_SHOP,
        amount,
        reference,
        processor: 'none',
      });
      // A repeated call, and a retry after a crash below this line, get here with the same key.
      const purchase = { buyer: subject.subject, reference, cents: book.price };
      const number = p.ledger.charge(payment.idempotencyKey, purchase);
      return answer(`Purchase ${number}: “${book.title}” for ${euro(book.price)}, approved by ${approval.method}.`);
    }),
  );

  mcpServer.registerTool(
    'recommend_book',
    {
      title: 'Recommend a book',
      description: `Asks the user what they like, and recommends a book of ${BOOK_SHOP}.`,
      annotations: { readOnlyHint: true },
    },
    p.gate.tool(async (_, ctx) => {
      // The form has no secrets: the MCP client shows it if it can, otherwise Postern does.
      const answered = await ctx.gate.form(wishesSchema, {
        title: wishes.title,
        texts: { mood: { title: wishes.mood, options: wishes.moods }, budget: { title: wishes.budget } },
      });

      const { mood, budget } = answered.content;
      const book = books.find(candidate => candidate.mood === mood && candidate.price <= budget * 100);
      if (book === undefined) return answer(`There is nothing ${mood} for ${euro(budget * 100)}.`);
      return answer(`Try ${book.id}: “${book.title}”, ${mood}, ${euro(book.price)}.`);
    }),
  );
}
