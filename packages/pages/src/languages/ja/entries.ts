import type { Texts } from '../texts.ts';

export const entries: Texts<'entries'> = {
  'fields.note': '項目名は {brand} ではなく、{mcpServer} が付けたものです。',
  'fields.optional': '（任意）',
  'fields.example': '例',
  'fields.choose': '選択',
  'fields.noAnswer': '回答しない',
  'fields.offset': '{field} のタイムゾーン',
  'fields.offsetShort': 'タイムゾーン',
  'fields.multilineSecret': '最初の行から最後の行まで、すべて貼り付けてください。入力内容は点で表示されます。',
  'fields.check': 'ご確認ください: {page}',
  'fields.invalid': 'まだ送信されていません。印の付いた項目をもう一度ご確認ください。',
  'fields.lookAgain': 'もう一度ご確認ください',
  'fields.secretsGone': '安全のため、非表示の項目は空になっています。もう一度入力してください。',
  'fields.termsChanged': '送信されませんでした。リクエストが変更されています。もう一度確認してから選択してください。',

  'hint.length': '{min}～{max}文字。',
  'hint.minLength': '{min}文字以上。',
  'hint.maxLength': '{max}文字以内。',
  'hint.range': '{min}～{max}。',
  'hint.minimum': '{min}以上。',
  'hint.maximum': '{max}以下。',
  'hint.items': '{min}～{max}件を選択してください。',
  'hint.exactItems': '{min}件を選択してください。',
  'hint.minItems': '{min}件以上を選択してください。',
  'hint.maxItems': '{max}件まで選択できます。',

  'fault.missing': '未入力です。入力してください。',
  'fault.missingChoice': '1つ選択してください。',
  'fault.number': '数値ではありません。{example} のような形式で入力してください。',
  'fault.ambiguous': '{whole} とも {decimal} とも読めます。どちらかをこのとおりに入力してください。',
  'fault.integer': '整数ではありません。{example} のように数字だけで入力してください。',
  'fault.too_short': '短すぎます。{min}文字以上で入力してください。',
  'fault.too_long': '長すぎます。{max}文字以内で入力してください。',
  'fault.email': 'メールアドレスではありません。{example} のような形式で入力してください。',
  'fault.uri': '完全なアドレスではありません。{example} のような形式で入力してください。',
  'fault.date': 'この日付は存在しません。',
  'fault.date-time': 'この日時は存在しません。',
  'fault.minimum': '小さすぎます。{min}以上で入力してください。',
  'fault.maximum': '大きすぎます。{max}以下で入力してください。',
  'fault.not_an_option': '一覧から選択してください。',
  'fault.too_few': '選択が足りません。{min}件以上を選択してください。',
  'fault.too_many': '選択が多すぎます。{max}件まで選択できます。',
  'fault.pattern': '正しくないようです。すべて入力されているか、余分なものがコピーされていないかをご確認ください。',
  'fault.otherForm': '形式が正しくありません。文字の不足や余分な文字がないかをご確認ください。',
  'fault.unchecked': '現在、確認できませんでした。少し待ってからもう一度送信するか、拒否してください。',
  'fault.other': '使用できません。もう一度入力してください。',

  'credential.heading': '{mcpServer} がアクセス情報を求めています',
  'credential.once':
    '{brand} は、これを {mcpServer} に1回だけ渡します。元のアプリやその AI を含め、ほかには一切渡しません。',
  'credential.lasting':
    '{brand} は、お客様が削除するまで厳重に保管し、必要なときに {mcpServer} に渡します。元のアプリやその AI を含め、ほかには一切渡しません。',
  'credential.replaces':
    '{mcpServer} によると、以前に入力したアクセス情報は受け付けられませんでした。新しいものに置き換えられます。',
  'credential.checked': '{brand} は、まず {host} で有効かどうかを確認します。',
  'credential.send': '送信',
  'credential.save': '保存',
  'credential.reassurance': '拒否した場合、情報は共有されません。',
  'credential.safety': 'ここへのログインに使用しているパスワードは、絶対に入力しないでください。',
  'credential.notice.rejected':
    '入力内容が {host} で受け付けられなかったため、何も保存されていません。確認してもう一度入力するか、拒否してください。',
  'credential.notice.rejectedUnnamed':
    '入力内容が受け付けられなかったため、何も保存されていません。確認してもう一度入力するか、拒否してください。',
  'credential.notice.unavailable':
    '{host} が応答せず、入力内容を確認できませんでした。何も保存されていません。しばらく待ってから、もう一度入力してください。',
  'credential.notice.unavailableUnnamed':
    '入力内容を確認できませんでした。何も保存されていません。しばらく待ってから、もう一度入力してください。',

  'credentialDone.headingOnce': 'アクセス情報を送信しました',
  'credentialDone.headingLasting': 'アクセス情報を保存しました',
  'credentialDone.asked': 'リクエスト内容',
  'credentialDone.once': '{mcpServer} は1回だけ受け取り、処理を続けられます。',
  'credentialDone.lasting': '{mcpServer} は処理を続けられます。削除するまで、繰り返し使用できます。',
  'credentialDone.manage': '保存した内容の確認と削除はいつでもできます',

  'form.heading': '{mcpServer} からいくつか質問があります',
  'form.headingOne': '{mcpServer} から質問があります',
  'form.questions': '質問',
  'form.lead': '回答は {mcpServer} に送られます。元のアプリは経由しません。',
  'form.leadSecret':
    '{brand} は、回答を {mcpServer} に1回だけ渡します。元のアプリやその AI を含め、ほかには一切渡しません。',
  'form.send': '送信',
  'form.yes': 'はい',
  'form.no': 'いいえ',
  'form.reassurance': '拒否した場合、情報は共有されません。',
  'form.safety': 'パスワード、鍵、カード番号は入力しないでください。',

  'formDone.heading': '回答しました',
  'formDone.text': '{mcpServer} は処理を続けられます。',
};
