import type { Texts } from '../texts.ts';

export const endings: Texts<'endings'> = {
  'working.heading': '回答を処理しています',
  'working.text': '数秒かかります。もう一度回答する必要はありません。',
  'working.reload': 'もう一度確認',

  'declined.heading': '拒否しました',
  'declined.text': '{mcpServer} に情報は共有されていません。',

  'expired.heading': 'このリクエストは期限切れです',
  'expired.text': 'リクエストには有効期限があります。まだ必要な場合は、元のアプリに戻ってやり直してください。',

  'cancelled.heading': 'このリクエストは取り消されました',
  'cancelled.text': '{mcpServer} への回答は不要になりました。このウィンドウは閉じてかまいません。',

  'failed.heading': 'このリクエストを完了できませんでした',
  'failed.text': '処理中に問題が発生しました。元のアプリに戻ってやり直してください。',

  'notFound.heading': 'ページが見つかりません',
  'notFound.text':
    'リンクが不完全か、すでに無効になっています。リンクを受け取ったアプリに戻り、新しいリンクを取得してください。',

  'error.badRequest.heading': 'このページを開けませんでした',
  'error.badRequest.text': 'アドレスの一部が欠けているか、壊れています。アプリからもう一度リンクを開いてください。',
  'error.forbidden.heading': 'この操作は停止されました',
  'error.forbidden.text':
    'ご本人による操作であることを確認できませんでした。アプリからもう一度リンクを開き、ページ上のボタンを使用してください。',
  'error.tooManyRequests.heading': '短時間に試行が多すぎます',
  'error.tooManyRequests.text': '1分待ってから、アプリからもう一度リンクを開いてください。',
  'error.unavailable.heading': '現在ご利用いただけません',
  'error.unavailable.text': '数分待ってから、アプリからもう一度リンクを開いてください。',
  'error.internal.heading': '問題が発生しました',
  'error.internal.text': '原因はこちら側にあります。アプリからもう一度リンクを開いてください。',
  'error.requestId': 'お問い合わせの際は、この番号をお伝えください',
};
