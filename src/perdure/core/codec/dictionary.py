"""What small values have in common: names that LangChain, LangGraph and the model providers put into every message."""

from __future__ import annotations

from typing import Final

# Part of the stored format: never change a byte. A better dictionary is a second one, with a flag of its own.
DICTIONARY: Final = (
    b"\x83\xa7content\x92\xa0\xa0\xaacreated_at\xa0\xabmodified_at\xd9 2025-01-01T00:00:00.000000+00:00\x93\x82"
    b"\xa7content\xa0\xa6status\xabin_progress\x81\xa6status\xa9completed\x81\xa6status\xa7pending\x86\xaelanggrap"
    b"h_step\x01\xaelanggraph_node\xa5model\xb2langgraph_triggers\x91\xafbranch:to:model\xaelanggraph_path\x92\xad"
    b"__pregel_pull\xa5tools\xb7langgraph_checkpoint_ns\xa0\xa9lc_source\xadsummarization\x86\xa1v\x04\xa2ts\xd9 2"
    b'025-01-01T00:00:00.000000+00:00\xb0channel_versions\x85\xa9__start__\xd9"00000000000000000000000000000001.0'
    b"\xa8messages\xa0\xafbranch:to:model\xa0\xafbranch:to:tools\xa0\xae__pregel_tasks\xa0\xadversions_seen\x82"
    b"\xa9__input__\x80\xa9__start__\x80\xb0updated_channels\x91\xa8messages\xadpending_sends\x90\x86\xa6source"
    b"\xa4loop\xa4step\x01\xa7parents\x80\xa6run_id\xa0\xa9thread_id\xa0\xa7user_id\xa0\x85\xafaction_requests\x91"
    b"\x83\xa4name\xa0\xa4args\x80\xabdescription\xa0\xaereview_configs\x91\x82\xabaction_name\xa0\xb1allowed_deci"
    b"sions\x93\xa7approve\xa4edit\xa6reject\xa9decisions\x91\x81\xa4type\xa7approve\xb3structured_response\xc0"
    b"\xafremaining_steps\x01\x85\xa4type\xa9reasoning\xa2id\xa3rs_\xa7summary\x91\x82\xa4type\xacsummary_text\xa4"
    b"text\xa0\xb1encrypted_content\xa0\xa6status\xa9completed\x83\xa4type\xa8thinking\xa8thinking\xa0\xa9signatur"
    b"e\xa0\x87\xa4type\xa8tool_use\xa2id\xa6toolu_\xa4name\xa0\xa5input\x80\xacpartial_json\xa0\xa5index\x00\xa6c"
    b"aller\x81\xa4type\xa6direct\x87\xa2id\xa4msg_\xa5model\xbaclaude-sonnet-4-5-20250929\xabstop_reason\xa8tool_"
    b"use\xadstop_sequence\xc0\xa5usage\x87\xaecache_creation\x82\xb9ephemeral_1h_input_tokens\x00\xb9ephemeral_5m"
    b"_input_tokens\x00\xbbcache_creation_input_tokens\x00\xb7cache_read_input_tokens\x00\xacinput_tokens\x01\xado"
    b"utput_tokens\x01\xafserver_tool_use\xc0\xacservice_tier\xa8standard\xaamodel_name\xbaclaude-sonnet-4-5-20250"
    b"929\xaemodel_provider\xa9anthropic\x81\xabstop_reason\xa8end_turn\x85\xadfinish_reason\xa4STOP\xaamodel_name"
    b"\xaegemini-2.5-pro\xaesafety_ratings\x90\xaemodel_provider\xacgoogle_genai\xafprompt_feedback\x81\xacblock_r"
    b"eason\x00\x91\x85\xa4name\xa0\xa4args\xa0\xa2id\xa0\xa5error\xc0\xa4type\xb1invalid_tool_call\x85\xa4type"
    b"\xa4text\xa4text\xa0\xabannotations\x90\xa5index\x00\xa6extras\x80\x92\x82\xa4type\xa4text\xa4text\xa0\x82"
    b"\xa4type\xa9image_url\xa9image_url\x81\xa3url\xb6data:image/png;base64,\x84\xa4type\xa5image\xabsource_type"
    b"\xa6base64\xa9mime_type\xaaimage/jpeg\xa4data\xa0\x81\xa8metadata\x84\xa6source\xachttps://www.\xa5title\xa0"
    b"\xa4page\x01\xa5score\x00\x91\x84\xa4name\xa6search\xa4args\x81\xa5query\xa0\xa2id\xa5call_\xa4type\xa9tool_"
    b"call\x81\xadfinish_reason\xaatool_calls\x81\xadfinish_reason\xa4stop\x88\xabtoken_usage\x85\xb1completion_to"
    b"kens\x01\xadprompt_tokens\x01\xactotal_tokens\x01\xb9completion_tokens_details\x84\xbaaccepted_prediction_to"
    b"kens\x00\xacaudio_tokens\x00\xb0reasoning_tokens\x00\xbarejected_prediction_tokens\x00\xb5prompt_tokens_deta"
    b"ils\x82\xacaudio_tokens\x00\xadcached_tokens\x00\xaemodel_provider\xa6openai\xaamodel_name\xa7gpt-4.1\xb2sys"
    b"tem_fingerprint\xa3fp_\xa2id\xa9chatcmpl-\xacservice_tier\xa7default\xadfinish_reason\xa4stop\xa8logprobs"
    b"\xc0\x85\xacinput_tokens\x01\xadoutput_tokens\x01\xactotal_tokens\x02\xb3input_token_details\x83\xa5audio"
    b"\x00\xaacache_read\x00\xaecache_creation\x00\xb4output_token_details\x82\xa5audio\x00\xa9reasoning\x00\x81"
    b"\xa7refusal\xc0\xablc_run--019\xa7success"
)

# The second dictionary: the first, and what LangGraph puts into every checkpoint and every task's writes. As above:
# never change a byte. What is most common stands last, where pointing to it costs least.
RECORDS: Final = DICTIONARY + (
    b"\xad__interrupt__\xa9__error__\xaa__resume__\xad__no_writes__\xaa__return__\xac__previous__\xa7__end__"
    b"\xa6source\xa6update\xa6source\xa4fork\xa4step\x00\xa7parents\x81\xa0\xd9$1f1ec\xaccheckpoint_ns\xa9threa"
    b"d_id\xa7user_id\xa6run_id\xd9$019\xb6structured_response\xa5files\xa5todos\xa7context\xa5state\xa6values"
    b"\xa5input\xa6output\xa6result\xa7summary\xa8question\xa6answer\xa9documents\xa5agent\xafbranch:to:agent"
    b"\xd9&~__pregel_push, 0000000000, 0000000000, model\x92\xd9&~__pregel_push, 0000000001, 0000000000\x92\x93"
    b"\x00\xa8messages\xc4\x06\xd6e\x93\x00\x01\x01\x93\x01\xafbranch:to:model\xc4\x01\xc0\x92\xb5~__pregel_pul"
    b"l, tools\x91\x93\x00\xae__pregel_tasks\xc4\x10\xc7\rP\x92\xa5tools\xd6e\x93\x02\x00\x01\x93\x02\xae__preg"
    b"el_tasks\xc4\x10\xc7\rP\x92\xb9~__pregel_pull, __start__\x92\x93\x00\xa8messages\xc4\x06\xd6e\x93\x00\x01"
    b"\x01\x93\x01\xafbranch:to:model\xc4\x01\xc0\x92\xb5~__pregel_pull, model\x91\x93\x00\xa8messages\xc4\x06"
    b"\xd6e\x93\x01\x00\x01\x99\x04\xd9 2026-01-01T00:00:00.000000+00:00\x94\x92\x07\xce\x01\x92\x06\xce\x02"
    b"\x92\x04\xce\x03\x92\x05\xce\x04\x84\xa9__start__\x00\xa8messages\x01\xafbranch:to:model\x01\xae__pregel_"
    b"tasks\x02\x84\xa9__input__\x80\xa9__start__\x81\xa9__start__\x03\xa5model\x81\xafbranch:to:model\x02\xa5t"
    b"ools\x80\x92\xae__pregel_tasks\xa8messages\xc4B\x84\xa6source\xa4loop\xa4step\x0b\xa7parents\x80\xaels_in"
    b"tegration\xb6langchain_create_agent\x83\xae__pregel_tasks\xc4\x01\x90\xa8messages\xc4\x06\xd6e\x93\x01"
    b"\x00\x0b\xafbranch:to:model\xc4\x01\xc0\xc4\x01\x80\x99\x04\xd9 2026-01-01T00:00:00.000000+00:00\x94\x92"
    b"\x07\xce\x01\x92\x06\xce\x02\x92\x04\xce\x03\x92\x05\xce\x04\x83\xa9__start__\x00\xa8messages\x01\xafbran"
    b"ch:to:model\x01\x83\xa9__input__\x80\xa9__start__\x81\xa9__start__\x02\xa5model\x81\xafbranch:to:model"
    b"\x03\x91\xa9__start__\xc4C\x84\xa6source\xa5input\xa4step\x05\xa7parents\x80\xaels_integration\xb6langcha"
    b"in_create_agent\x82\xa8messages\xc4\x06\xd6e\x93\x01\x00\x04\xa9__start__\xc4\x10\x81\xa8messages\xd6e"
    b"\x93\x00\x02\x01\xc4\x01\x80\x99\x04\xd9 2026-01-01T00:00:00.000000+00:00\x93\x92\x08\xce\x00\x92\x07\xce"
    b"\x03\x92\x05\xce\x00\x83\xa9__start__\x00\xa8messages\x00\xafbranch:to:model\x00\x83\xa9__input__\x80\xa9"
    b"__start__\x81\xa9__start__\x01\xa5model\x81\xafbranch:to:model\x02\x92\xafbranch:to:model\xa8messages\xc4"
    b"B\x84\xa6source\xa4loop\xa4step\x06\xa7parents\x80\xaels_integration\xb6langchain_create_agent\x82\xa8mes"
    b"sages\xc4\x06\xd6e\x93\x01\x00\x05\xafbranch:to:model\xc4\x01\xc0\xc4\x01\x80\x99\x04\xd9 2026-01-01T00:0"
    b"0:00.000000+00:00\x93\x92\x08\xce\x00\x92\t\xce\x05\x92\x07\xce\x03\x83\xa9__start__\x00\xa8messages\x01"
    b"\xafbranch:to:model\x01\x83\xa9__input__\x80\xa9__start__\x81\xa9__start__\x02\xa5model\x81\xafbranch:to:"
    b"model\x00\x91\xa8messages\xc4\x1c\x83\xa6source\xa4loop\xa4step\x07\xa7parents\x80\x81\xa8messages\xc4"
    b"\x06\xd6e\x93\x01\x00\x06\xc4\x01\x80"
)
