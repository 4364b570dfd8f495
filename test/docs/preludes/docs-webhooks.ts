/** What the example of docs/webhooks.md takes for granted. */
export declare const rawBody: string;
export declare const request: { readonly headers: Record<string, string> };
export declare const secret: string;
