import type { Texts } from '../texts.ts';

export const identity: Texts<'identity'> = {
  'signIn.heading': '続けるにはログインしてください',
  'signIn.text': 'お使いのアプリから質問が届いています。ご本人だけが見られるように、ログインしてください。',
  'signIn.connections': 'ログインすると、連携中のアカウントの確認や連携の解除ができます。',
  'signIn.continue': 'ログインに進む',
  'signIn.choose': 'ここでアプリに使用しているアカウントを選択してください。',
  'signIn.with': '{name} でログイン',

  'signInFailed.heading': 'ログインできませんでした',
  'signInFailed.text':
    'ログインサービスが応答しないか、ログインが拒否されました。しばらく待ってから、もう一度お試しください。',
  'signInFailed.retry': 'もう一度試す',

  'signInAgain.title': '再ログイン',
  'signInAgain.heading': '{app} にもう一度ログインしてください',
  'signInAgain.text':
    'この操作には最近のログインが必要です。{app} にもう一度ログインし、そこからリンクを開いて、5分以内にこのページに戻ってください。',

  'signedOut.heading': 'ログアウトしました',
  'signedOut.text': 'このウィンドウは閉じてかまいません。',
  'signedOut.elsewhere': '{host} ではまだログインしている可能性があります。',
  'signedOut.there': 'そちらからもログアウトする',

  'wrongPerson.heading': 'これは別のアカウントへのリクエストです',
  'wrongPerson.text':
    '別のアカウントをお持ちの場合は、そのアカウントでログインしてください。他の人からこのリンクが送られてきた場合は、ウィンドウを閉じてください。情報は共有されていません。',
  'wrongPerson.switchAccount': '別のアカウントを使用',

  'wrongBrowser.heading': 'この操作は別のブラウザで開始されています',
  'wrongBrowser.text': '安全のため、ここで停止しました。アカウントは連携されていません。',
  'wrongBrowser.next':
    'ご自身で開始した場合は、アプリに戻ってやり直してください。他の人からリンクが送られてきた場合は、ウィンドウを閉じてください。',

  'noRequest.heading': 'この応答に対応するリクエストが見つかりません',
  'noRequest.text':
    '元のサービスからの応答に、どのリクエストのものかが示されていないか、リクエストが終了しています。連携も拒否も行われていません。',
  'noRequest.next': 'リクエストをもう一度開いて、続行するか拒否してください。',
  'noRequest.nextInApp': 'アプリに戻って、リンクをもう一度開いてください。',
  'noRequest.open': 'リクエストを開く',
};
