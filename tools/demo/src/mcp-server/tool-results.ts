export const answer = (text: string) => ({ content: [{ type: 'text' as const, text }] });
export const failure = (text: string) => ({ isError: true, ...answer(text) });
