export const BOOK_SHOP = 'Corner Bookshop';

export const moods = ['funny', 'thrilling', 'quiet'] as const;

export interface Book {
  readonly id: string;
  readonly title: string;
  readonly mood: (typeof moods)[number];
  /** Euro cents. */
  readonly price: number;
}

export const books: readonly [Book, ...Book[]] = [
  { id: 'small-doors', title: 'An Atlas of Small Doors', mood: 'quiet', price: 1250 },
  { id: 'night-watch', title: 'Who Holds the Lantern', mood: 'thrilling', price: 1890 },
  { id: 'wrong-keys', title: 'Forty Wrong Keys', mood: 'funny', price: 990 },
  { id: 'first-edition', title: 'Gatehouses of Europe, first edition', mood: 'quiet', price: 24_000 },
];

export const euro = (cents: number): string =>
  new Intl.NumberFormat('en', { style: 'currency', currency: 'EUR' }).format(cents / 100);
