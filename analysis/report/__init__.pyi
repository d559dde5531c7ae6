from .html_tables import PageColumn as PageColumn
from .html_tables import PageTable as PageTable
from .html_tables import page_table as page_table
from .overview import stated_answers as stated_answers
from .sections import ReportSection as ReportSection
from .sections import SectionRequest as SectionRequest
from .text import protocols_of as protocols_of
